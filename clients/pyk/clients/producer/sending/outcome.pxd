from pyk.clients.producer.batching.batch cimport ProducerBatch
from pyk.clients.producer.sending.partition_queue cimport PartitionQueue


cpdef conclude(PartitionQueue queue, ProducerBatch batch, verdict, double retry_at)
cdef _settle(PartitionQueue queue, ProducerBatch batch)
cdef bint _is_kept_in_order(PartitionQueue queue, ProducerBatch batch, verdict) except -1
