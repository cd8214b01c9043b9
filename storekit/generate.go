package storekit

// The tools are in a module of their own, so that their dependencies stay out of
// this one. It needs Go modules only: no protoc, no network beyond the module
// cache.
//go:generate go -C ../tools run ./protogen -proto ../storekit/proto -out .. -module github.com/anarchon-go/anarchon -python ../examples/python-backend anarchon/store/v1/store.proto
