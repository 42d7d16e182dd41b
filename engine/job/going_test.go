package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
)

func TestGoing(t *testing.T) {
	j := &Jobs{all: map[ID]*live{}}
	if got := j.Going(0); got.Jobs != 0 || got.Ended.ID != 0 {
		t.Errorf("of none: %+v", got)
	}
	for _, is := range []Job{
		{ID: 1, State: Running, Counts: Counts{Seen: 40, Total: 100}},
		{ID: 2, State: Waiting, Counts: Counts{Total: 50}},
		{ID: 3, State: Done, Ended: 100, Counts: Counts{Seen: 7, Total: 7}},
		{ID: 4, State: Failed, Ended: 101, Counts: Counts{Seen: 7, Total: 9}},
		{ID: 5, State: Cancelled, Ended: 101},
		{ID: 6, State: Done, Ended: 99},
	} {
		j.all[is.ID] = &live{job: is}
	}
	for since, want := range map[engine.Instant]ID{99: 5, 100: 5, 101: 5, 102: 0} {
		got := j.Going(since)
		if d := cmp.Diff(Going{Jobs: 2, Seen: 40, Total: 150, Ended: got.Ended}, got); d != "" || got.Ended.ID != want {
			t.Errorf("since %d it is job %d, want %d %s", since, got.Ended.ID, want, d)
		}
	}
}
