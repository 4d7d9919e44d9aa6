# Nothing here is used from other compiled modules; the file says that this module is a hot one.
