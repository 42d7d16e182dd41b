package rest

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/enginetest"
	"mayfly/storage/memory"
)

// storyFloor is the least number of steps to run over HTTP in each manner.
const storyFloor = 230

// elsewhere are the commands that REST does not have, with the reason. Those of other
// protocols' clients are run at the broker.
var elsewhere = map[string]string{
	"limit": "the server's flags", "create": "the administrator's", "update": "the administrator's", "delete": "the administrator's",
	"counts": "the administrator's", "entities": "the administrator's", "events": "the dashboard's", "operate": "an operator's", "purge": "an operator's",
	"defer": "no address defers", "fetch": "no address defers", "release": "unlocking counts", "dead-letter": "no address dead-letters",
	"peek": "no address peeks", "cancel": "no address knows a schedule's number", "rules": "the administrator's",
}

// brokenOff are the scenarios that stop early, with the reason.
var brokenOff = map[string]string{
	"sessions": "this API has no sessions", "near-misses": "this API has no sessions", "surprise-03-release-counts-nothing": "this API has no sessions",
	"transactions": "this API has no transactions", "duplicates": "this API has no transactions",
	"fwd-14": "nothing is sent by way of another entity", "clients": "no receiver stays", "idle-s2": "no receiver stays",
}

// The scenarios of the engine run over HTTP, as far as REST has their operations.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("../../engine/testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios found: %v", err)
	}
	used := map[string]int{}
	for _, lists := range []string{"", batchType} {
		t.Run("as "+lists, func(t *testing.T) {
			var all enginetest.StepCounts
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				name := strings.TrimSuffix(filepath.Base(file), ".txt")
				story, err := enginetest.Parse(name, string(text))
				if err != nil {
					t.Fatal(err)
				}
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { all.Add(tell(t, lists != "", story, used)) })
				})
			}
			through := all.Compared + all.Uncompared
			t.Logf("ran %d steps over HTTP, of which %d did not check all that they show; %d elsewhere; time passed %d times", through, all.Uncompared, all.Operator, all.Waits)
			if through < storyFloor {
				t.Errorf("only %d steps ran over HTTP; want at least %d", through, storyFloor)
			}
		})
	}
	for name, why := range elsewhere {
		if used[name] == 0 {
			t.Errorf("no scenario has %q run elsewhere: %s", name, why)
		}
	}
}

func tell(t *testing.T, lists bool, story *enginetest.Scenario, used map[string]int) enginetest.StepCounts {
	house := enginetest.NewOperator(func(l engine.Limits) (*broker.Broker, error) {
		return broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return new(memory.Store), nil }, broker.Options{Limits: &l, Logger: slog.New(slog.DiscardHandler)})
	})
	s := &executor{t: t, house: house, lists: lists, held: map[string]enginetest.LockedMessage{}}
	defer s.end()
	x := &enginetest.Comparison{
		Engine: enginetest.NewEngine(), Protocol: s, Visible: plain,
		Wait: func(c enginetest.Command) error {
			d, _, err := engine.ParseDuration(c.Arg(0))
			time.Sleep(d)
			synctest.Wait()
			return err
		},
		Operator: func(c enginetest.Command) ([]string, error) {
			if elsewhere[c.Name] == "" || c.Options["by"] != "" || c.Options["session"] != "" {
				return nil, enginetest.ErrUnsupported
			}
			used[c.Name]++
			return house.DoForClient(t.Context(), c, s.held)
		},
	}
	_, err := story.Run(x, false)
	switch why := brokenOff[story.Name]; {
	case why != "" && !errors.Is(err, enginetest.ErrUnsupported):
		t.Errorf("the scenario does not stop because %s: %v", why, err)
	case why == "" && err != nil:
		t.Error(err)
	}
	return x.Counts
}

// expiring matches times of expiry, which REST gives in whole seconds.
var (
	expiring = regexp.MustCompile(`expires in ([0-9hms.]+)`)
	failed   = regexp.MustCompile(`; failed \d+`)
	sized    = regexp.MustCompile(`this one has \d+`)
)

// plain returns a line of the engine without what REST does not show, such as fractions of a second
// in times of expiry.
func plain(c enginetest.Command, line string) string {
	line = expiring.ReplaceAllStringFunc(line, func(s string) string {
		d, err := time.ParseDuration(expiring.FindStringSubmatch(s)[1])
		if err != nil {
			panic(err)
		}
		return "expires at " + time.Now().Add(d).Truncate(time.Second).Format(time.RFC3339)
	})
	if engine.Path(c.Path(0)).IsDeadLetter() { // DC-6
		line = failed.ReplaceAllString(line, "")
	}
	return sized.ReplaceAllString(line, "this one has so many")
}
