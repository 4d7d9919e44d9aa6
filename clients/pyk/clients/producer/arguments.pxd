cpdef as_partition(given)


cpdef serialized(serializer, str topic, given, str what)
