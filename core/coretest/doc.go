// Package coretest helps to test jobs and the services that run them. It imports
// the standard library and package core only.
//
// # One run
//
// [RunSlot] executes a job's handler for one slot as a scheduler would: with a
// [core.Run], the job's timeout, panics recovered, and the same judgement of what
// the handler returns. It is the test of what a job does.
//
// # A service
//
// [NewStore] is a store in memory. Give it to [core.New] in the place of the
// plugin, as many times as the service has instances.
//
// Inside of testing/synctest everything runs on virtual time: the scheduler, the
// store's clock, and the handlers' timers. A test of a nightly job takes no
// longer than its handler:
//
//	synctest.Test(t, func(t *testing.T) {
//		s, _ := core.New(coretest.NewStore(store.KindLease), core.Options{})
//		s.Add(job)
//		ctx, cancel := context.WithCancel(t.Context())
//		done := make(chan error)
//		go func() { done <- s.Run(ctx) }()
//		time.Sleep(24 * time.Hour) // a day passes
//		cancel()
//		if err := <-done; err != nil {
//			t.Error(err)
//		}
//	})
//
// Virtual time begins at midnight of 2000-01-01, UTC, and moves only while every
// goroutine of the test waits for another, a timer or a channel; a handler that
// waits for the network stops it.
//
// # Clocks
//
// A [Clock] is one that the test sets: the store's ([WithClock]), to let a lease end or
// to be off, or an instance's ([core.Options.Now]), to differ from the store's.
package coretest
