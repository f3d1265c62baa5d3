package externals

import (
	"testing"
	"time"
)

func TestTheWindowOfACallEndsByEachClock(t *testing.T) {
	recorded := time.Now()
	for name, tc := range map[string]struct {
		width time.Duration
		now   time.Time
		want  bool
	}{
		"at once":                            {time.Minute, recorded, false},
		"at its end":                         {time.Minute, recorded.Add(time.Minute), false},
		"after it, by both clocks":           {time.Minute, recorded.Add(time.Minute + 1), true},
		"after it, by the wall clock alone":  {time.Minute, recorded.Round(0).Add(time.Hour), true},
		"although the wall clock was set":    {time.Minute, recorded.Round(0).Add(-time.Hour), false},
		"a call without a window is allowed": {0, recorded.Add(time.Hour), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (window{recorded, tc.width}).isOver(tc.now); got != tc.want {
				t.Errorf("the window is over: %t, want %t", got, tc.want)
			}
		})
	}
}
