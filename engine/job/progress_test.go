package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
)

func TestGoing(t *testing.T) {
	j := &Jobs{all: map[ID]*liveJob{}}
	if got := j.Progress(0); got.Jobs != 0 || got.LastEnded.ID != 0 {
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
		j.all[is.ID] = &liveJob{job: is}
	}
	for since, want := range map[engine.Instant]ID{99: 5, 100: 5, 101: 5, 102: 0} {
		got := j.Progress(since)
		if d := cmp.Diff(Progress{Jobs: 2, Seen: 40, Total: 150, LastEnded: got.LastEnded}, got); d != "" || got.LastEnded.ID != want {
			t.Errorf("after %d the changed job is %d, want %d %s", since, got.LastEnded.ID, want, d)
		}
	}
}
