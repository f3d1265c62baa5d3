package reconcile

import (
	"strconv"
	"testing"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

func TestRenderingsThatChangeTheirOwnValuesAreDelayed(t *testing.T) {
	var r renewals
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	exports := func(value string) []metav1alpha1.AskedExport {
		return []metav1alpha1.AskedExport{{Name: "x", Value: value}}
	}
	delay := func() time.Duration { return max(0, r.due("inputs", now).Sub(now)) }
	delay()
	for range 20 {
		r.add(exports(""), exports("1"), now)
	}
	if got := delay(); got != 0 {
		t.Errorf("the first values delay the next rendering by %s", got)
	}
	for _, want := range []time.Duration{
		0, 0, 0, 0, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second,
		5 * time.Minute, 5 * time.Minute,
	} {
		r.add(exports(strconv.Itoa(r.count+1)), exports(strconv.Itoa(r.count+2)), now)
		if got := delay(); got != want {
			t.Errorf("after %d renewals the delay is %s, want %s", r.count, got, want)
		}
		counted := r.count
		if r.add(exports("1"), exports(strconv.Itoa(r.count+1)), now); r.count != counted {
			t.Error("the renewal of a rendering that failed is counted again")
		}
	}
	if r.due("other inputs", now); r.count != 0 {
		t.Error("other inputs do not reset the delay")
	}
	r.add(exports("1"), exports("2"), now)
	if now = now.Add(time.Hour); delay() != 0 || r.count != 0 {
		t.Error("a quiet time does not reset the delay")
	}
}
