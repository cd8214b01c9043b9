// Package promise lists the protocol's promises: what a store that keeps the
// protocol does, one sentence each, with a number that never changes meaning.
// Checks cite them, failures quote them, and docs/protocol.md explains them; a
// test keeps the three in step.
package promise

import "slices"

// Applies says which backends a promise binds.
type Applies uint8

const (
	All       Applies = iota // every backend
	Lease                    // lease backends only
	ClaimOnly                // claim-only backends only
)

// Promise is one numbered promise.
type Promise struct {
	ID       string // e.g. "R-CLAIM-3"; never reused for another meaning
	Sentence string // what holds, as a rule that a failure can quote
	Applies  Applies
}

// List returns all promises, in the order of the protocol document.
func List() []Promise { return slices.Clone(list) }

// Get returns the promise with that id.
func Get(id string) (Promise, bool) {
	i := slices.IndexFunc(list, func(p Promise) bool { return p.ID == id })
	if i < 0 {
		return Promise{}, false
	}
	return list[i], true
}

var list = []Promise{
	{"R-CLAIM-1", "Of all claims of one attempt of a run, from any number of processes at once, exactly one is granted.", All},
	{"R-CLAIM-2", "A claim repeated with the same claim id while its attempt is open gets the same attempt and token again, with the lease that is left, and changes nothing.", All},
	{"R-CLAIM-3", "A claim id that is remembered and comes with another job, slot or instance is invalid, and nothing is written.", Lease},
	{"R-CLAIM-4", "A run that ended is never granted again: its claim is answered finished, or superseded once a newer slot was granted, also after its record was trimmed.", All},
	{"R-CLAIM-5", "While an attempt of the run holds a live lease, every other claim of the run is answered running, with holder, attempt and lease left.", Lease},
	{"R-CLAIM-6", "Once a newer slot of the job was granted, an older one is never granted: its claim is answered superseded, and an unfinished run of it is closed as interrupted.", Lease},
	{"R-CLAIM-7", "A claim is granted only if the attempt that it names as the one before is the run's last: a copy that arrives late is never granted a second time.", Lease},
	{"R-CLAIM-8", "Attempts are numbered from 1 without gaps, and a grant records the open attempt before it as interrupted.", Lease},
	{"R-CLAIM-9", "A grant closes every older unfinished run of its job that holds no live lease, as interrupted.", Lease},
	{"R-CLAIM-10", "A run whose counted attempts reached the maximum of its first claim is closed as interrupted and answered exhausted; a released attempt does not count.", Lease},
	{"R-CLAIM-11", "The claim leaves the record running in the same step that decides the winner.", All},

	{"R-TOKEN-1", "Within a job each later grant has a greater token, also after takeover, hand-over and history trimming.", Lease},
	{"R-TOKEN-2", "A token is at least the store's clock in milliseconds at the grant, so that tokens rise also after a restore from backup.", Lease},
	{"R-TOKEN-3", "Only the token of an open attempt is current: what any other token sends changes nothing, and a dead token is dead for ever.", Lease},

	{"R-LEASE-1", "A lease holds for at least its length from the grant or the last accepted heartbeat, on the store's clock.", Lease},
	{"R-LEASE-2", "A lease ends by itself: once its length is over without renewal, the run can be claimed by another.", Lease},
	{"R-LEASE-3", "A lease is judged by the length that its holder asked for, never by the asker's.", Lease},
	{"R-LEASE-4", "A heartbeat renews an open attempt, also after its lease ran out, as long as nobody took the run over.", Lease},
	{"R-LEASE-5", "A heartbeat never shortens a lease.", Lease},
	{"R-LEASE-6", "Nothing renews a lease but a heartbeat of its holder.", Lease},
	{"R-LEASE-7", "Leases and lateness are judged on the store's clock, whatever the clocks of plugin and instance say.", Lease},

	{"R-OVERLAP-1", "While any slot of the job holds a live lease and the claimer or that holder says skip, no other slot of the job is granted.", Lease},
	{"R-OVERLAP-2", "A run without a live lease, and a run of another job, never stands in the way.", Lease},
	{"R-OVERLAP-3", "Where both say allow, slots of a job run side by side.", Lease},

	{"R-LATE-1", "A first attempt later than max late plus 10 s on the store's clock is answered late and not granted.", Lease},
	{"R-LATE-2", "A first attempt earlier than max early on the store's clock is answered early and not granted.", Lease},
	{"R-LATE-3", "A run of which an attempt exists is never refused as late or early.", Lease},

	{"R-FINISH-1", "A finish with the open attempt's token is recorded, with its outcome and its error text.", All},
	{"R-FINISH-2", "A repeated finish with the same outcome is recorded again and changes nothing; with another outcome it is lost.", Lease},
	{"R-FINISH-3", "A finish of an attempt that was taken over, closed or ended otherwise is lost and changes nothing.", Lease},
	{"R-FINISH-4", "A released run is unfinished without a lease: it can be claimed at once, its attempt reads interrupted and handed over, and does not count.", Lease},
	{"R-FINISH-5", "A failed run is over; it is not granted again.", All},
	{"R-FINISH-6", "An error text is kept to 2000 characters, cut at a character boundary.", All},

	{"R-MEMORY-1", "A granted slot is remembered at least as long, and for at least as many runs, as declared, whatever the history size.", All},
	{"R-MEMORY-2", "Unfinished runs are never trimmed.", Lease},
	{"R-MEMORY-3", "Nothing that another job does makes the store forget.", All},

	{"R-HISTORY-1", "History lists the attempts of a job newest first, by slot and attempt, with holder, status, token and times, and any page size gives the same list.", All},
	{"R-HISTORY-2", "History is trimmed per job to the size that the last claim asked for, oldest slot first, never below the newest run.", Lease},
	{"R-HISTORY-3", "What one instance wrote, every other instance reads at once.", All},

	{"R-RECALL-1", "Recall of unfinished runs lists each run that began and did not end, with slot, attempt, holder, token, lease left, counted attempts and the job's newest granted slot; released runs too.", Lease},
	{"R-RECALL-2", "Recall without names lists the unfinished runs of all jobs of the namespace.", Lease},

	{"R-NAME-1", "Every job name of 1 to 200 bytes of UTF-8 works, and different names are different jobs.", All},
	{"R-NAME-2", "Services in different namespaces of one store do not see each other's jobs.", All},
	{"R-NAME-3", "Slots are whole milliseconds, of any year from 1970 to 9999, and different slots are different runs.", All},

	{"R-ERROR-1", "A request that breaks a rule of the protocol is invalid, names the field, and writes nothing.", All},
	{"R-ERROR-2", "A verb that the backend does not have is answered unsupported.", All},
	{"R-ERROR-3", "A call that may have taken effect is answered unknown, never as refused and never as granted.", All},
	{"R-ERROR-4", "A plugin that dies or hangs in the middle of a call leaves at most one grant, and the run can be claimed again once the lease is over.", All},
	{"R-ERROR-5", "A call that a store can't serve, because it is full or has no connection left, is answered with an error, never as granted, refused or lost; nothing that was acknowledged is lost, and when there is room again the same plugin works on.", All},

	{"R-BATCH-1", "The items of a batch are judged in order, each in its own step, and one bad item does not fail its neighbours.", All},

	{"R-DESCRIBE-1", "What the plugin declares of itself holds, in both directions.", All},
	{"R-DESCRIBE-2", "Every answer carries the store's now, where the plugin declares that the store has a clock.", All},

	{"R-FORMAT-1", "The store records its format; a plugin that meets a newer one refuses to start, names both, and touches nothing.", All},
	{"R-FORMAT-2", "A version keeps the fields that it does not know.", All},
	{"R-FORMAT-3", "Any number of plugins may set the store up at once.", All},
	{"R-FORMAT-4", "A record that can't be read is an error, never a verdict: it is not taken for one that is not there.", All},
}
