package model

import (
	"cmp"

	"github.com/anarchon-go/anarchon/core/store"
)

// storeSteps are what a [Store] does around the rules of its jobs.
type storeSteps struct {
	refuse  func(err error) error // what becomes of an invalid request
	key     func(namespace, job string) jobKey
	slot    func(slot int64) int64
	checkID func(s *Store, key jobKey, id store.ClaimID) error
	claim   func(s *Store, key jobKey, now int64, req store.ClaimRequest) (store.ClaimAnswer, error)
	trimmed func(s *Store, key jobKey) // after a job was written
	seesAll func(namespace string, key jobKey) bool
	shown   func(now int64) int64 // what an answer says of the store's now
}

var storeTruth = storeSteps{
	refuse:  func(err error) error { return err },
	key:     func(namespace, job string) jobKey { return jobKey{namespace, job} },
	slot:    func(slot int64) int64 { return slot },
	checkID: checkJob,
	claim:   (*Store).claim,
	trimmed: func(*Store, jobKey) {}, // each job trims its own history
	seesAll: func(namespace string, key jobKey) bool { return key.namespace == namespace },
	shown:   func(now int64) int64 { return now },
}

func compareKeys(a, b jobKey) int {
	return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.namespace, b.namespace))
}
