package broker_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
)

// ACT-5: the SessionId that an action sets decides the session of the subscription's copy. A
// copy without one is a dead letter (§6.2#3). Other subscriptions' copies are as sent.
func TestActionsOnSessions(t *testing.T) {
	const (
		none = "Session ID is null. Session enabled entity doesn't allow a message whose session identifier is null."
		long = 129
	)
	type held map[string]string // the messages of each session
	for name, tc := range map[string]struct {
		session string // as sent; empty means none
		actions []string
		want    held
		dead    string // reason and description
	}{
		"ACT-5 set to another":          {"x", []string{"SET sys.SessionId = 'eu'"}, held{"eu": "[m]"}, ""},
		"ACT-5 set where there is none": {"", []string{"SET sys.SessionId = 'eu'"}, held{"eu": "[m]"}, ""},
		"ACT-5 set from a property":     {"x", []string{"SET sys.SessionId = region + '-1'"}, held{"us-1": "[m]"}, ""},
		"ACT-5 set to what it is":       {"x", []string{"SET sys.SessionId = sys.SessionId"}, held{"x": "[m]"}, ""},
		"ACT-5 not touched":             {"x", []string{"SET sys.Label = 'l'"}, held{"x": "[m]"}, ""},
		"ACT-5 not touched, none":       {"", []string{"SET sys.Label = 'l'"}, nil, none},
		"ACT-5 removed":                 {"x", []string{"REMOVE sys.SessionId"}, nil, none},
		"ACT-5 removed and set":         {"x", []string{"REMOVE sys.SessionId; SET sys.SessionId = 'eu'"}, held{"eu": "[m]"}, ""},
		"ACT-5 set and removed":         {"x", []string{"SET sys.SessionId = 'eu'; REMOVE sys.SessionId"}, nil, none},
		"ACT-5, ACT-6 set to unknown":   {"x", []string{"SET sys.SessionId = missing"}, nil, none},
		"ACT-5, SES-1 set to empty":     {"x", []string{"SET sys.SessionId = ''"}, held{"": "[m]"}, ""},
		"ACT-5, FILT-5 a copy each":     {"x", []string{"SET sys.SessionId = 'eu'", "SET sys.SessionId = 'us'", ""}, held{"eu": "[m]", "us": "[m]", "x": "[m]"}, ""},
		"ACT-5, FILT-5 one of two":      {"x", []string{"SET sys.SessionId = 'eu'", "REMOVE sys.SessionId"}, held{"eu": "[m]"}, none},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				ctx := w.Context()
				w.CreateEntity(engine.Topic, "t", engine.Config{})
				var rules []engine.Rule
				for i, action := range tc.actions {
					rules = append(rules, engine.Rule{Name: fmt.Sprint("r", i), Filter: engine.Filter{Kind: engine.TrueFilter}, Action: action})
				}
				sub, plain := engine.SubscriptionPath("t", "s"), engine.SubscriptionPath("t", "plain")
				if _, err := w.CreateWithRules(ctx, engine.Subscription, sub, engine.Config{RequiresSession: true}, rules, ""); err != nil {
					t.Fatal(err)
				}
				w.CreateEntity(engine.Subscription, plain, engine.Config{})
				c := engine.Content{SessionID: tc.session, Properties: region("us")}
				w.SendMessages("t", broker.Outgoing{Content: c, Body: []byte("m")})
				got := held{}
				for range len(tc.actions) + 1 {
					s, err := w.AcceptSession(ctx, broker.AcceptRequest{Path: sub})
					if errors.Is(err, engine.ErrTimeout) {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					got[s.ID()] = w.texts(s, 9, 0)
				}
				if fmt.Sprint(got) != fmt.Sprint(tc.want) {
					t.Errorf("sessions have %v, want %v", got, tc.want)
				}
				dead := w.receives(sub.DeadLetter())
				if tc.dead == "" && len(dead) > 0 || tc.dead != "" && !slices.Equal(dead, []string{"m " + tc.dead}) {
					t.Errorf("dead are %q, want %q", dead, tc.dead)
				}
				all, err := w.Receive(ctx, broker.ReceiveRequest{Path: plain, Max: 9})
				if err != nil || len(all) != 1 || all[0].Content.SessionID() != tc.session {
					t.Errorf("elsewhere there is %+v: %v", all, err)
				}
			})
		})
	}
	t.Run("ACT-5, MSG-3 too long", func(t *testing.T) { // the action fails (FILT-31), and that is the reason
		in(t, func(w *world) {
			ctx := w.Context()
			w.CreateEntity(engine.Topic, "t", engine.Config{})
			sub := engine.SubscriptionPath("t", "s")
			rule := engine.Rule{Name: "r", Filter: engine.Filter{Kind: engine.TrueFilter}, Action: "SET sys.SessionId = region"}
			if _, err := w.CreateWithRules(ctx, engine.Subscription, sub, engine.Config{RequiresSession: true}, []engine.Rule{rule}, ""); err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{long - 1, long} {
				c := engine.Content{SessionID: "x", Properties: region(strings.Repeat("x", n))}
				w.SendMessages("t", broker.Outgoing{Content: c, Body: []byte("m")})
			}
			s, err := w.AcceptSession(ctx, broker.AcceptRequest{Path: sub})
			if err != nil || s.ID() != strings.Repeat("x", long-1) || w.texts(s, 9, 0) != "[m]" {
				t.Errorf("got %v: %v", s, err)
			}
			if dead := w.receives(sub.DeadLetter()); len(dead) != 1 || !strings.HasPrefix(dead[0], "m RuleActionException ") {
				t.Errorf("dead are %q", dead)
			}
		})
	})
}

func region(of string) value.Properties {
	return value.Properties{{Name: "region", Value: value.OfString(of)}}
}

// receives takes all messages and returns them with their dead-letter reasons.
func (w *world) receives(from engine.Path) (all []string) {
	w.Helper()
	got, err := w.Receive(w.Context(), broker.ReceiveRequest{Path: from, Max: 9})
	if err != nil {
		w.Fatal(err)
	}
	for _, r := range got {
		all = append(all, text(w.T, r)+" "+r.Message.Extra.Reason+" "+r.Message.Extra.Description)
	}
	return all
}
