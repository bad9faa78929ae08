package svc

// LibraryVersion is the version of this library; it goes with every call, in the User-Agent header.
const LibraryVersion = "0.1.0"
