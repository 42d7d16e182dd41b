package broker

import (
	"math"
	"strings"
	"testing"

	"mayfly/engine"
)

// TestRoutine lists which kinds of events the history leaves out first when there are too many.
// It lists every kind, so that a new kind needs a decision.
func TestRoutine(t *testing.T) {
	const every, some = true, false // whether every message has such an event
	want := map[engine.EventKind]bool{
		engine.EventSent: every, engine.EventScheduled: every, engine.EventActivated: every, engine.EventForwarded: every,
		engine.EventDuplicate: every, engine.EventUnmatched: every, engine.EventLocked: every, engine.EventRenewed: every,
		engine.EventReleased: every, engine.EventCompleted: every, engine.EventReceived: every,
		engine.EventSessionLocked: every, engine.EventSessionClosed: every, engine.EventSessionState: every, engine.EventSessionRenewed: every,

		engine.EventCancelled: some, engine.EventLockLost: some, engine.EventAbandoned: some, engine.EventDeferred: some,
		engine.EventReturned: some, engine.EventDeadLettered: some, engine.EventExpired: some, engine.EventDeleted: some,
		engine.EventMoved: some, engine.EventCopied: some, engine.EventExtended: some, engine.EventTransferFailed: some,
		engine.EventSessionLost: some,

		engine.EventEntityCreated: some, engine.EventEntityUpdated: some, engine.EventEntityDeleted: some, engine.EventEntityAutoDeleted: some,
		engine.EventRuleAdded: some, engine.EventRuleRemoved: some, engine.EventRuleReplaced: some, engine.EventPurged: some, engine.EventTouched: some,

		engine.EventStarted: some, engine.EventStopped: some, engine.EventReadOnly: some, engine.EventWritable: some,
		engine.EventReopened: some, engine.EventGap: some, engine.EventAccessChanged: some, engine.EventDisconnected: some, engine.EventSettingsChanged: some, engine.EventNamespaceCreated: some, engine.EventNamespaceRemoved: some,
		engine.EventClockTurned: some, engine.EventScenePlayed: some,
		engine.EventSignedIn: some, engine.EventSignInFailed: some, engine.EventSignedOut: some, engine.EventSignInsEnded: some,
		engine.EventTokenCreated: some, engine.EventTokenRevoked: some, engine.EventReadLinkCreated: some, engine.EventReadLinkRevoked: some,
		engine.EventNamespaceChanged: some, engine.EventSceneAdded: some, engine.EventSceneRemoved: some, engine.EventMemoryFull: some, engine.EventMemoryFree: some,
	}
	for k := engine.EventKind(1); k < math.MaxUint8; k++ {
		if strings.HasPrefix(k.String(), "event-") { // no such kind exists
			continue
		}
		is, ok := want[k]
		switch {
		case !ok:
			t.Errorf("it is not decided whether every message has a %q event", k)
		case isRoutine(k) != is:
			t.Errorf("%q is routine: %v", k, isRoutine(k))
		}
		delete(want, k)
	}
	if len(want) != 0 {
		t.Errorf("there are no names for %v", want)
	}
}
