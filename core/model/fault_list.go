package model

// The faults, by what they bend; [Fault.Doc] says what goes wrong.
const (
	NoFault Fault = iota

	// Atomicity, and rule 1: a claim asked again.
	FaultClaimNotAtomic
	FaultRepeatRefused
	FaultRepeatNewToken
	FaultRepeatRenews
	FaultRepeatFullLease
	FaultRepeatWhenOver
	FaultRepeatByInstance
	FaultIDAnyInstance
	FaultIDAnySlot
	FaultIDAnyJob

	// Rules 2 to 4: what is over, held, or superseded.
	FaultFailedAgain
	FaultFinishedStatus
	FaultMemoryIsHistory
	FaultMemoryExpires
	FaultSupersededNever
	FaultSupersededStaysOpen
	FaultSupersededFirst

	// Rule 5: lateness.
	FaultLateNever
	FaultLateNoTolerance
	FaultLateTakeover
	FaultEarlyNever
	FaultEarlyAsLate

	// Rule 6: overlap.
	FaultOverlapNotAtomic
	FaultOverlapNever
	FaultOverlapNewestOnly
	FaultOverlapHolderIgnored
	FaultOverlapClaimerIgnored
	FaultOverlapFirstOnly
	FaultOverlapDead
	FaultOverlapOtherJobs
	FaultOverlapAlways

	// Rules 7 and 8: attempts and tokens.
	FaultAfterIgnored
	FaultMaxAttemptsPlusOne
	FaultMaxAttemptsMinusOne
	FaultMaxAttemptsAskers
	FaultReleaseCounts
	FaultCrashFree
	FaultExhaustedStaysOpen
	FaultReleaseNumberAgain
	FaultPreviousStaysRunning
	FaultOlderStayOpen
	FaultOlderLiveClosed
	FaultTokenSame
	FaultTokenKept
	FaultTokenPerRun
	FaultTokenByHistory
	FaultTokenCounter
	FaultTokenClock

	// Leases, heartbeats, and whose token is current.
	FaultLeaseHalf
	FaultLeaseSeconds
	FaultLeaseFromSlot
	FaultLeaseDoubled
	FaultLeaseForEver
	FaultLeaseAskers
	FaultLeaseRenewsItself
	FaultLeaseNotCut
	FaultHeartbeatShortens
	FaultHeartbeatIdle
	FaultHeartbeatNotWhenOver
	FaultHeartbeatNotWhenOlder
	FaultHeartbeatRevivesEnded
	FaultHeartbeatRevivesReleased
	FaultHeartbeatAnyToken
	FaultTokenLower
	FaultTokenHigher
	FaultTokenAnySlot

	// Finish and hand-over.
	FaultFinishStale
	FaultFinishAfterClose
	FaultFinishTwice
	FaultFinishRepeatLost
	FaultFinishLastOnly
	FaultFinishNotWhenOver
	FaultFinishForgotten
	FaultReleaseEndsRun
	FaultReleaseKeepsLease
	FaultReleaseNotMarked
	FaultErrorLost
	FaultErrorUncut
	FaultErrorBytes

	// History: what is kept and shown.
	FaultTrimUnfinished
	FaultTrimAcrossJobs
	FaultTrimNever
	FaultTrimNewest
	FaultTrimFirstEnded
	FaultTrimOneMore
	FaultHistorySizeFirst
	FaultHistoryOldestFirst
	FaultHistoryRunningHidden
	FaultHistoryLastOnly
	FaultHistorySeconds
	FaultHistoryPageGap
	FaultHistoryPageAny

	// Recall of unfinished runs.
	FaultRecallReleasedHidden
	FaultRecallOverHidden
	FaultRecallNumberCounts
	FaultRecallWholeLease
	FaultRecallNewestOwn
	FaultRecallNamedOnly
	FaultRecallNamespaces

	// Claim-only stores.
	FaultTakenWindowHalf
	FaultTakenCountHalf
	FaultTakenMemoryIsHistory
	FaultTakenRepeatRefused
	FaultTakenAnyInstance
	FaultTakenNoRecord
	FaultTakenFinishAnyone

	// Names, slots, refusals, the clock.
	FaultNamesFolded
	FaultNamesCut
	FaultNamesTrimmed
	FaultNamesCString
	FaultNamesJoined
	FaultNamespaceIgnored
	FaultSlotSeconds
	FaultSlot32Bits
	FaultInvalidAccepted
	FaultNowMissing

	faultCount // not a fault
)

// faults is the table that the groups make up; index 0 is the truth.
var faults = func() (all [faultCount]fault) {
	all[NoFault] = fault{name: "none", doc: "nothing: the rules as they are", kinds: both}
	for _, group := range []map[Fault]fault{
		repeatFaults, memoryFaults, lateFaults, overlapFaults, attemptFaults, leaseFaults,
		finishFaults, historyFaults, recallFaults, claimOnlyFaults, nameFaults,
	} {
		for f, what := range group {
			all[f] = what
		}
	}
	return all
}()
