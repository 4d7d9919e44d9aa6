from pyk.clients.producer.batching.batch cimport ProducerBatch
from pyk.clients.producer.sending.partition_queue cimport PartitionQueue


cpdef conclude(PartitionQueue queue, ProducerBatch batch, outcome, double retry_at, identity)
cdef _settle(PartitionQueue queue, ProducerBatch batch)
