package history_test

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/history"
)

func TestRead(t *testing.T) {
	const day = 1783987200000 // 2026-07-14
	for query, want := range map[string]history.Filter{
		"":                                         {},
		"scope=audit&group=ends":                   {Scope: history.Audit, Group: history.Removals},
		"path=orders":                              {Path: "orders"},
		"path=orders/$deadletterqueue":             {Path: "orders"},
		"path=prices/subscriptions/eu":             {Path: "prices/Subscriptions/eu"},
		"actor=+dashboard+&q=%20x%20":              {Actor: "dashboard", Text: "x"},
		"message=1099511627777":                    {Message: 1<<40 | 1},
		"from=2026-07-14&until=2026-07-14T10:30":   {From: day, Until: day + 10*3600_000 + 30*60_000},
		"from=2026-07-14T12:00:00%2B02:00":         {From: day + 10*3600_000},
		"from=2026-07-14t10:00:00.25z":             {From: day + 10*3600_000 + 250},
		"from=2026-07-14T10:01Z":                   {From: day + 10*3600_000 + 60_000},
		"from=2026-07-14+10:00:01":                 {From: day + 10*3600_000 + 1000},
		"cursor=1784023452000-7-48271":             {Before: engine.HistoryCursor{At: 1784023452000, Epoch: 7, N: 48271}},
		"scope=&group=&path=&actor=&q=&from=&x=yz": {},
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		got, wrong := history.ParseFilter(q, engine.DefaultLimits())
		if d := cmp.Diff(want, got); d != "" || len(wrong) > 0 {
			t.Errorf("%s: %v (-want +got):\n%s", query, wrong, d)
		}
		if again, wrong := history.ParseFilter(got.Values(), engine.DefaultLimits()); again != got || len(wrong) > 0 {
			t.Errorf("%s: formatted as %q, which is parsed as %+v, %v", query, got.Values().Encode(), again, wrong)
		}
	}
}

func TestInvalidParamsAreReported(t *testing.T) {
	for query, want := range map[string][]string{
		"scope=none":                      {history.ParamScope},
		"group=none&path=/x":              {history.ParamGroup, history.ParamPath},
		"message=0":                       {history.ParamMessage},
		"message=-1":                      {history.ParamMessage},
		"from=yesterday&until=2026":       {history.ParamFrom, history.ParamUntil},
		"from=1969-12-31T00:00":           {history.ParamFrom},
		"cursor=1-2":                      {history.ParamCursor},
		"cursor=1-2-3-4":                  {history.ParamCursor},
		"cursor=-1-2-3":                   {history.ParamCursor},
		"cursor=9223372036854775808-1-1":  {history.ParamCursor},
		"q=" + strings.Repeat("x", 201):   {history.ParamText},
		"actor=" + strings.Repeat("x", 9): {},
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		f, wrong := history.ParseFilter(q, engine.DefaultLimits())
		if got := slices.Sorted(maps.Keys(wrong)); !slices.Equal(got, want) {
			t.Errorf("%s: wrong are %q, want %q", query, got, want)
		}
		for name, err := range wrong {
			if !errors.Is(err, engine.ErrArgument) || f.Values().Has(name) {
				t.Errorf("%s: %v, parsed as %+v", query, err, f)
			}
		}
	}
}

func TestCellsAreHarmless(t *testing.T) {
	content := engine.Content{MessageID: "+1", Subject: "-2+3"}.Pack()
	e := history.NewEvent(engine.HistoryEvent{Epoch: 7, Event: engine.Event{
		N: 12, At: 1_000, Kind: engine.EventDeleted, Path: "orders", To: "=x", Actor: "@SUM(A1)", Reason: "=cmd|' /C calc'!A0", Audit: true,
		Message: engine.Message{Key: 1<<40 | 5, Seq: 3, DeliveryCount: 2}, Content: content,
	}})
	want := []string{
		"1970-01-01T00:00:01.000Z", "7", "12", "deleted", "ends", "true", "orders", "'=x", "", "'@SUM(A1)", "'=cmd|' /C calc'!A0", "",
		"1099511627781", "3", "2", "'+1", "'-2+3",
	}
	if d := cmp.Diff(want, e.Cells()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(history.Columns()) != len(want) {
		t.Errorf("%d headings over %d cells", len(history.Columns()), len(want))
	}
	for text, want := range map[string]string{"\t=1": "'\t=1", "\r": "'\r", "＝1": "'＝1", "－": "'－", "": "", "a=b": "a=b", "'=1": "'=1"} {
		if got := (history.Event{Reason: text}).Cells()[10]; got != want {
			t.Errorf("%q is written %q, want %q", text, got, want)
		}
	}
}
