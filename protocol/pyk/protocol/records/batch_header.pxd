cpdef int write_header(
    bytearray data,
    short attributes,
    int last_offset_delta,
    long long base_timestamp,
    long long max_timestamp,
    long long producer_id,
    short producer_epoch,
    int base_sequence,
    int count,
) except -1
