// Package containers starts the servers that plugins are tested against, in
// containers on this machine, and breaks them on purpose: it pauses, restarts
// and kills them.
//
// An image is one of conformance/images, made by `make images`, or any other
// reference that the engine has or can pull. ANARCHON_IMAGE_… in the environment
// replaces one of ours: ANARCHON_IMAGE_REDIS_8_6=myregistry/redis:8.6.1 tests
// against the server that you run.
//
// Every container carries a label with its owner's process id. Those whose owner
// is gone, also by Ctrl-C or kill -9, are removed by the next Start.
package containers
