package broker_test

import (
	"testing"

	"github.com/anishathalye/porcupine"

	"mayfly/engine"
)

// TestLinearJudges checks that the specification that TestLinear uses accepts right answers and
// rejects wrong ones. The names of cases have a blank in a rule's id: they show that the
// specification contains the rule, but do not test the broker.
func TestLinearJudges(t *testing.T) {
	const right, wrong = porcupine.Ok, porcupine.Illegal
	type operations = []operation
	sent := func(a answer, ids ...int) operation {
		d := operation{verb: sending, answer: a, ids: ids, sessions: make([]string, len(ids))}
		for _, id := range ids {
			if a == done {
				d.seqs = append(d.seqs, engine.Seq(id))
			}
		}
		return d
	}
	in := func(session string, d operation) operation {
		for i := range d.sessions {
			d.sessions[i] = session
		}
		if d.session = session; d.verb != sending {
			d.handle = 1
		}
		return d
	}
	took := func(id, token int, count uint32) operation {
		d := operation{verb: receiving, answer: done, spot: inQueue, got: []got{{engine.Seq(id), id, count, token}}}
		if token == 0 {
			d.mode = engine.ReceiveAndDelete
		}
		return d
	}
	dead := func(d operation) operation { d.spot = inDead; return d }
	none := operation{verb: findingNone, answer: done, spot: inQueue}
	perhaps := func(mode engine.Mode) operation {
		return operation{verb: receiving, answer: unsaid, spot: inQueue, mode: mode}
	}
	settled := func(token int, how engine.Outcome, a answer) operation {
		return operation{verb: settling, answer: a, spot: inQueue, token: token, how: how}
	}
	fetched := func(a answer, ids ...int) operation {
		d := operation{verb: fetching, answer: a, spot: inQueue}
		for _, id := range ids {
			if d.seqs = append(d.seqs, engine.Seq(id)); a == done {
				d.got = append(d.got, got{engine.Seq(id), id, 1, 10 + id})
			}
		}
		return d
	}
	reopened := func(since int64) operation { return operation{verb: reopening, answer: done, since: since} }
	session := func(v verb, a answer, handle int) operation {
		return operation{verb: v, answer: a, session: "s", handle: handle}
	}
	state := func(v verb, a answer, text string) operation {
		return operation{verb: v, answer: a, session: "s", handle: 1, text: text}
	}
	for name, tc := range map[string]struct {
		want       porcupine.CheckResult
		operations operations // the i-th is called at 10 i and answered at 10 i + 5
	}{
		"SEQ 1":                       {right, operations{sent(done, 1, 2), sent(done, 3)}},
		"SEQ 1 a number is left out":  {wrong, operations{sent(done, 1), sent(done, 3)}},
		"SEQ 7":                       {right, operations{sent(done, 1, 2), took(1, 1, 0), took(2, 2, 0), none}},
		"SEQ 7 the second first":      {wrong, operations{sent(done, 1, 2), took(2, 1, 0)}},
		"SEQ 8":                       {right, operations{sent(done, 1, 2), took(1, 1, 0), settled(1, engine.Abandon, done), took(1, 2, 1)}},
		"SEQ 8 abandoned to the end":  {wrong, operations{sent(done, 1, 2), took(1, 1, 0), settled(1, engine.Abandon, done), took(2, 2, 0)}},
		"LOCK 3 two get it":           {wrong, operations{sent(done, 1), took(1, 1, 0), took(1, 2, 0)}},
		"LOCK 2 deleted twice":        {wrong, operations{sent(done, 1), took(1, 0, 0), took(1, 0, 0)}},
		"LOCK 7":                      {right, operations{sent(done, 1), took(1, 1, 0), settled(1, engine.Complete, done), settled(1, engine.Complete, refused)}},
		"LOCK 7 settled twice":        {wrong, operations{sent(done, 1), took(1, 1, 0), settled(1, engine.Complete, done), settled(1, engine.Complete, done)}},
		"LOCK 6 refused for nothing":  {wrong, operations{sent(done, 1), took(1, 1, 0), settled(1, engine.Complete, refused)}},
		"LOCK 10 an old token":        {wrong, operations{sent(done, 1), took(1, 1, 0), settled(1, engine.Abandon, done), took(1, 2, 1), settled(1, engine.Complete, done)}},
		"a completed one comes back":  {wrong, operations{sent(done, 1), took(1, 1, 0), settled(1, engine.Complete, done), took(1, 2, 0)}},
		"an abandoned one is lost":    {wrong, operations{sent(done, 1), took(1, 1, 0), settled(1, engine.Abandon, done), none}},
		"DC 2 not counted":            {wrong, operations{sent(done, 1), took(1, 1, 0), settled(1, engine.Abandon, done), took(1, 2, 0)}},
		"SETL 4":                      {right, operations{sent(done, 1), took(1, 1, 0), settled(1, engine.Release, done), took(1, 2, 0)}},
		"SETL 4 counted":              {wrong, operations{sent(done, 1), took(1, 1, 0), settled(1, engine.Release, done), took(1, 2, 1)}},
		"DEF 2":                       {wrong, operations{sent(done, 1), took(1, 1, 0), settled(1, engine.Defer, done), took(1, 2, 1)}},
		"DEF 6":                       {right, operations{sent(done, 1), took(1, 1, 0), settled(1, engine.Defer, done), none, fetched(done, 1)}},
		"DEF 7 one of two":            {wrong, operations{sent(done, 1, 2), took(1, 1, 0), settled(1, engine.Defer, done), fetched(done, 1, 2)}},
		"DEF 7":                       {right, operations{sent(done, 1, 2), took(1, 1, 0), settled(1, engine.Defer, done), fetched(refused, 1, 2), fetched(done, 1)}},
		"DEF 7 refused for nothing":   {wrong, operations{sent(done, 1), took(1, 1, 0), settled(1, engine.Defer, done), fetched(refused, 1)}},
		"DEF 12":                      {right, operations{sent(done, 1), took(1, 1, 0), settled(1, engine.Abandon, done), took(1, 2, 1), settled(2, engine.Abandon, done), took(1, 3, 2), settled(3, engine.Defer, done), fetched(refused, 1), dead(took(1, 4, 3))}},
		"DC 4 once more":              {wrong, operations{sent(done, 1), took(1, 1, 0), settled(1, engine.Abandon, done), took(1, 2, 1), settled(2, engine.Abandon, done), took(1, 3, 2), settled(3, engine.Abandon, done), took(1, 4, 3)}},
		"DC 4 to the dead letters":    {right, operations{sent(done, 1), took(1, 1, 0), settled(1, engine.Abandon, done), took(1, 2, 1), settled(2, engine.Abandon, done), took(1, 3, 2), settled(3, engine.Abandon, done), none, dead(took(1, 4, 3))}},
		"DLQ 5":                       {wrong, operations{sent(done, 1), took(1, 1, 0), settled(1, engine.DeadLetter, done), dead(took(1, 2, 0)), dead(settled(2, engine.DeadLetter, done))}},
		"MSG 8":                       {wrong, operations{sent(done, 1), reopened(7), none}},
		"MSG 8 deleted and back":      {wrong, operations{sent(done, 1), took(1, 0, 0), reopened(7), took(1, 0, 0)}},
		"not known, done":             {right, operations{sent(unsaid, 1), took(1, 1, 0)}},
		"not known, not done":         {right, operations{sent(unsaid, 9), none, sent(done, 1)}},
		"not known, done later":       {wrong, operations{sent(unsaid, 1), none, took(1, 1, 0)}},
		"not known, half done":        {wrong, operations{sent(unsaid, 1, 2), took(1, 1, 0), none}},
		"not known, completed":        {right, operations{sent(done, 1), took(1, 1, 0), settled(1, engine.Complete, unsaid), settled(1, engine.Complete, refused), none}},
		"not known, not completed":    {right, operations{sent(done, 1), took(1, 1, 0), settled(1, engine.Complete, unsaid), settled(1, engine.Complete, done), none}},
		"not known, and then free":    {wrong, operations{sent(done, 1), took(1, 1, 0), settled(1, engine.Complete, unsaid), took(1, 2, 0)}},
		"not known, taken":            {right, operations{sent(done, 1, 2), perhaps(engine.PeekLock), took(2, 1, 0)}},
		"not known, two of one taken": {wrong, operations{sent(done, 1, 2, 3), perhaps(engine.ReceiveAndDelete), took(3, 1, 0)}},
		"DEC 12 durable":              {right, operations{sent(done, 1), took(1, 1, 0), reopened(17), none, settled(1, engine.Complete, done)}},
		"DEC 12 durable and free":     {wrong, operations{sent(done, 1), took(1, 1, 0), reopened(17), took(1, 2, 0)}},
		"DEC 12 soft":                 {right, operations{sent(done, 1), took(1, 1, 0), reopened(7), settled(1, engine.Complete, refused), took(1, 2, 0)}},
		"DEC 12 soft and locked":      {wrong, operations{sent(done, 1), took(1, 1, 0), reopened(7), none}},
		"DEC 12 soft and counted":     {wrong, operations{sent(done, 1), took(1, 1, 0), reopened(7), took(1, 2, 1)}},
		"DEC 12 at the same time":     {right, operations{sent(done, 1), took(1, 1, 0), reopened(12), took(1, 2, 0)}},
		"DEC 12 at the same time too": {right, operations{sent(done, 1), took(1, 1, 0), reopened(12), none}},
		"DEC 12 both":                 {wrong, operations{sent(done, 1), took(1, 1, 0), reopened(12), none, took(1, 2, 0)}},

		"SES 4":                      {right, operations{session(accepting, done, 1), session(accepting, refused, 2), session(closing, done, 1), session(accepting, done, 2)}},
		"SES 4 given to two":         {wrong, operations{session(accepting, done, 1), session(accepting, done, 2)}},
		"SES 2 without messages":     {wrong, operations{session(acceptingNext, done, 1)}},
		"SES 2":                      {right, operations{in("s", sent(done, 1)), session(acceptingNext, done, 1)}},
		"SES 3 refused for nothing":  {wrong, operations{in("s", sent(done, 1)), session(acceptingNext, refused, 1)}},
		"SES 8 of another session":   {wrong, operations{in("r", sent(done, 1)), session(accepting, done, 1), in("s", took(1, 1, 0))}},
		"SES 7":                      {right, operations{in("s", sent(done, 1)), session(accepting, done, 1), in("s", took(1, 1, 0)), session(closing, done, 1), session(accepting, done, 1), in("s", took(1, 2, 0))}},
		"SES 7 counted":              {wrong, operations{in("s", sent(done, 1)), session(accepting, done, 1), in("s", took(1, 1, 0)), session(closing, done, 1), session(accepting, done, 1), in("s", took(1, 2, 1))}},
		"SES 7 still locked":         {wrong, operations{in("s", sent(done, 1)), session(accepting, done, 1), in("s", took(1, 1, 0)), session(closing, done, 1), settled(1, engine.Complete, done)}},
		"OPS 6":                      {right, operations{in("s", sent(done, 1)), session(accepting, done, 1), in("s", took(1, 1, 0)), session(breaking, done, 0), session(keeping, refused, 1), session(accepting, done, 1), in("s", took(1, 2, 1))}},
		"OPS 6 not counted":          {wrong, operations{in("s", sent(done, 1)), session(accepting, done, 1), in("s", took(1, 1, 0)), session(breaking, done, 0), session(accepting, done, 1), in("s", took(1, 2, 0))}},
		"SES 6 after it was broken":  {wrong, operations{session(accepting, done, 1), session(breaking, done, 0), session(keeping, done, 1)}},
		"DEC 5":                      {right, operations{session(accepting, done, 1), session(leaving, done, 1), session(accepting, refused, 2), session(breaking, done, 0)}},
		"DEC 5 free at once":         {wrong, operations{session(accepting, done, 1), session(leaving, done, 1), session(accepting, done, 2)}},
		"SES 11":                     {right, operations{session(accepting, done, 1), state(stating, done, "=x"), session(closing, done, 1), reopened(5), session(accepting, done, 1), state(asking, done, "=x")}},
		"SES 11 lost by closing":     {wrong, operations{session(accepting, done, 1), state(stating, done, "=x"), session(closing, done, 1), session(accepting, done, 1), state(asking, done, unset)}},
		"SES 11 not known, both":     {wrong, operations{session(accepting, done, 1), state(stating, unsaid, "=x"), state(asking, done, "=x"), state(asking, done, unset)}},
		"DEC 12 session free":        {right, operations{session(accepting, done, 1), reopened(5), session(keeping, refused, 1), session(accepting, done, 2)}},
		"DEC 12 session taken":       {right, operations{in("s", sent(done, 1)), session(accepting, done, 1), in("s", took(1, 1, 0)), reopened(27), session(accepting, refused, 2), settled(1, engine.Complete, done)}},
		"DEC 12 session given again": {wrong, operations{in("s", sent(done, 1)), session(accepting, done, 1), in("s", took(1, 1, 0)), reopened(27), session(accepting, done, 2)}},
	} {
		t.Run(name, func(t *testing.T) {
			var all []porcupine.Operation
			for i := range tc.operations {
				d := &tc.operations[i]
				d.call, d.ret = int64(10*i), int64(10*i+5)
				all = append(all, porcupine.Operation{Input: d, Call: d.call, Return: d.ret})
			}
			if got := porcupine.CheckOperationsTimeout(model(), all, judging); got != tc.want {
				t.Errorf("it is %s", got)
			}
		})
	}
}
