package mutants

import (
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// catcher names the check that must catch a fault of the model.
func catcher(kind store.Kind, f model.Fault) (string, bool) {
	if kind == store.KindClaimOnly {
		if check, ok := claimOnlyCatchers[f]; ok {
			return check, true
		}
		if _, ok := uncovered[kind][f]; ok {
			return "", false
		}
	}
	check, ok := catchers[f]
	return check, ok
}

var catchers = map[model.Fault]string{
	model.FaultClaimNotAtomic:   "claim/one-winner",
	model.FaultRepeatRefused:    "retry/same-grant",
	model.FaultRepeatNewToken:   "retry/at-once",
	model.FaultRepeatRenews:     "retry/not-renewed",
	model.FaultRepeatFullLease:  "retry/not-renewed",
	model.FaultRepeatWhenOver:   "retry/after-finish",
	model.FaultRepeatByInstance: "claim/running",
	model.FaultIDAnyInstance:    "retry/foreign-id",
	model.FaultIDAnySlot:        "retry/foreign-id",
	model.FaultIDAnyJob:         "retry/foreign-id",

	model.FaultFailedAgain:         "finish/failed-is-over",
	model.FaultFinishedStatus:      "claim/finished",
	model.FaultMemoryIsHistory:     "memory/newest",
	model.FaultMemoryExpires:       "memory/age",
	model.FaultSupersededNever:     "claim/superseded",
	model.FaultSupersededStaysOpen: "claim/superseded-closes",
	model.FaultSupersededFirst:     "memory/unfinished",

	model.FaultLateNever:       "late/bound",
	model.FaultLateNoTolerance: "late/bound",
	model.FaultLateTakeover:    "late/later-attempts",
	model.FaultEarlyNever:      "late/early-bound",
	model.FaultEarlyAsLate:     "late/early-bound",

	model.FaultOverlapNotAtomic:      "overlap/slots-at-once",
	model.FaultOverlapNever:          "overlap/older-still-runs",
	model.FaultOverlapNewestOnly:     "overlap/older-still-runs",
	model.FaultOverlapHolderIgnored:  "overlap/either-says-skip",
	model.FaultOverlapClaimerIgnored: "overlap/either-says-skip",
	model.FaultOverlapFirstOnly:      "overlap/takeover",
	model.FaultOverlapDead:           "overlap/no-live-lease",
	model.FaultOverlapOtherJobs:      "overlap/other-job",
	model.FaultOverlapAlways:         "overlap/allow",

	model.FaultAfterIgnored:          "claim/follows",
	model.FaultMaxAttemptsPlusOne:    "attempt/exhausted",
	model.FaultMaxAttemptsMinusOne:   "attempt/exhausted",
	model.FaultMaxAttemptsAskers:     "attempt/first-maximum",
	model.FaultReleaseCounts:         "attempt/release-not-counted",
	model.FaultCrashFree:             "attempt/exhausted",
	model.FaultExhaustedStaysOpen:    "attempt/exhausted",
	model.FaultReleaseNumberAgain:    "attempt/numbers",
	model.FaultPreviousStaysRunning:  "attempt/numbers",
	model.FaultOlderStayOpen:         "claim/closes-older",
	model.FaultOlderLiveClosed:       "claim/closes-older",
	model.FaultTokenSame:             "fence/tokens-rise",
	model.FaultTokenKept:             "fence/tokens-rise",
	model.FaultTokenPerRun:           "fence/tokens-rise",
	model.FaultTokenByHistory:        "fence/tokens-rise",
	model.FaultTokenCounter:          "fence/above-clock",
	model.FaultTokenClock:            "fence/tokens-rise",
	model.FaultLeaseHalf:             "lease/length",
	model.FaultLeaseSeconds:          "lease/length",
	model.FaultLeaseFromSlot:         "lease/length",
	model.FaultLeaseDoubled:          "lease/length",
	model.FaultLeaseForEver:          "lease/idle-host",
	model.FaultLeaseAskers:           "lease/holders-length",
	model.FaultLeaseRenewsItself:     "lease/length",
	model.FaultHeartbeatShortens:     "lease/never-shortened",
	model.FaultHeartbeatIdle:         "lease/from-heartbeat",
	model.FaultHeartbeatNotWhenOver:  "lease/renewed-after-end",
	model.FaultHeartbeatNotWhenOlder: "lease/renewed-after-end",

	model.FaultHeartbeatRevivesEnded:    "fence/dead-token",
	model.FaultHeartbeatRevivesReleased: "fence/dead-token",
	model.FaultHeartbeatAnyToken:        "fence/stale-heartbeat",
	model.FaultTokenLower:               "fence/wrong-token",
	model.FaultTokenHigher:              "fence/wrong-token",
	model.FaultTokenAnySlot:             "fence/wrong-token",

	model.FaultFinishStale:        "fence/taken-over",
	model.FaultFinishAfterClose:   "claim/superseded-closes",
	model.FaultFinishTwice:        "finish/repeated",
	model.FaultFinishRepeatLost:   "finish/repeated",
	model.FaultFinishLastOnly:     "finish/repeated",
	model.FaultFinishNotWhenOver:  "lease/finish-after-end",
	model.FaultFinishForgotten:    "finish/recorded",
	model.FaultReleaseEndsRun:     "attempt/handed-over",
	model.FaultReleaseKeepsLease:  "attempt/handed-over",
	model.FaultReleaseNotMarked:   "attempt/handed-over",
	model.FaultErrorLost:          "finish/recorded",
	model.FaultErrorUncut:         "finish/error-text",
	model.FaultErrorBytes:         "finish/error-text",
	model.FaultTrimUnfinished:     "memory/unfinished",
	model.FaultTrimAcrossJobs:     "memory/other-job",
	model.FaultTrimNever:          "history/trimmed",
	model.FaultTrimNewest:         "history/trimmed",
	model.FaultTrimFirstEnded:     "history/trimmed",
	model.FaultTrimOneMore:        "history/trimmed",
	model.FaultHistorySizeFirst:   "history/trimmed",
	model.FaultHistoryOldestFirst: "history/order",

	model.FaultHistoryRunningHidden: "claim/record-at-once",
	model.FaultHistoryLastOnly:      "history/order",
	model.FaultHistorySeconds:       "finish/recorded",
	model.FaultHistoryPageGap:       "history/pages",
	model.FaultHistoryPageAny:       "history/strange-page",
	model.FaultRecallReleasedHidden: "recall/fields",
	model.FaultRecallOverHidden:     "recall/fields",
	model.FaultRecallNumberCounts:   "recall/fields",
	model.FaultRecallWholeLease:     "lease/never-shortened",
	model.FaultRecallNewestOwn:      "recall/fields",
	model.FaultRecallNamedOnly:      "recall/all-jobs",
	model.FaultRecallNamespaces:     "names/namespaces",

	model.FaultNamesFolded:      "names/jobs",
	model.FaultNamesCut:         "names/jobs",
	model.FaultNamesTrimmed:     "names/jobs",
	model.FaultNamesCString:     "names/jobs",
	model.FaultNamesJoined:      "names/namespace-job",
	model.FaultNamespaceIgnored: "names/namespaces",
	model.FaultSlotSeconds:      "names/near-slots",
	model.FaultSlot32Bits:       "names/far-slots",
	model.FaultInvalidAccepted:  "errors/claim-bounds",
	model.FaultNowMissing:       "describe/now",
}

// claimOnlyCatchers are for faults that only claim-only stores have, and for
// those that another check catches there.
var claimOnlyCatchers = map[model.Fault]string{
	model.FaultHistoryOldestFirst:   "history/pages",
	model.FaultTakenWindowHalf:      "memory/age",
	model.FaultTakenCountHalf:       "memory/granted-slots",
	model.FaultTakenMemoryIsHistory: "memory/granted-slots",
	model.FaultTakenRepeatRefused:   "retry/same-grant",
	model.FaultTakenNoRecord:        "claim/record-at-once",
	model.FaultTakenFinishAnyone:    "taken/stranger",
}

// Uncovered returns the faults of the model that no check catches, each with the
// reason.
func Uncovered(kind store.Kind) map[model.Fault]string { return uncovered[kind] }

const notPromised = "the rule binds lease stores only"

var uncovered = map[store.Kind]map[model.Fault]string{
	store.KindLease: {
		model.FaultLeaseNotCut: "shows only when the store's clock goes back, which needs a store whose clock can be set",
	},
	store.KindClaimOnly: {
		model.FaultTakenAnyInstance: notPromised,
		model.FaultLateNever:        notPromised,
		model.FaultLateNoTolerance:  notPromised,
		model.FaultEarlyNever:       notPromised,
		model.FaultEarlyAsLate:      notPromised,
		model.FaultFinishTwice:      notPromised,
		model.FaultFinishRepeatLost: notPromised,
	},
}
