package metrics

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCallsAboutExternalsAreCountedByKindMethodAndResult(t *testing.T) {
	m, series := newMeter(t)
	m.CountExternalCall("Schema", "create", "ok", time.Second)
	m.CountExternalCall("Schema", "create", "failed", time.Second)
	m.CountExternalCall("Schema", "observe", "ok", time.Second)
	want := []string{
		"fairlead_external_call_duration_seconds{kind=Schema,method=create} 2",
		"fairlead_external_call_duration_seconds{kind=Schema,method=observe} 1",
		"fairlead_external_calls_total{kind=Schema,method=create,result=failed} 1",
		"fairlead_external_calls_total{kind=Schema,method=create,result=ok} 1",
		"fairlead_external_calls_total{kind=Schema,method=observe,result=ok} 1",
	}
	if diff := cmp.Diff(want, of(series(), "fairlead_external")); diff != "" {
		t.Error(diff)
	}
}

func TestExternalsAreCountedByState(t *testing.T) {
	m, series := newMeter(t)
	first := map[string]map[string]int{"Schema": {"ready": 2, "uncertain": 0}}
	stop := m.ExportExternals(func() map[string]map[string]int { return first })
	// While a process replaces a reconciler, there are two controllers.
	stopOther := m.ExportExternals(func() map[string]map[string]int {
		return map[string]map[string]int{"Schema": {"ready": 1}}
	})
	want := []string{"fairlead_externals{kind=Schema,state=ready} 3", "fairlead_externals{kind=Schema,state=uncertain} 0"}
	if diff := cmp.Diff(want, of(series(), "fairlead_externals")); diff != "" {
		t.Error(diff)
	}
	stop()
	stopOther()
	if left := of(series(), "fairlead_externals"); len(left) > 0 {
		t.Errorf("series of a controller that has ended: %v", left)
	}
}

func TestTheNumberOfKindsOfExternalsIsLimited(t *testing.T) {
	m, series := newMeter(t)
	for n := range maxExternalKinds + 10 {
		m.CountExternalCall(fmt.Sprintf("Kind%d", n), "observe", "ok", 0)
	}
	m.CountExternalCall("Kind0", "observe", "ok", 0)
	calls := of(series(), "fairlead_external_calls_total")
	if len(calls) != maxExternalKinds+1 {
		t.Errorf("%d series", len(calls))
	}
	for _, want := range []string{
		"fairlead_external_calls_total{kind=<other>,method=observe,result=ok} 10",
		"fairlead_external_calls_total{kind=Kind0,method=observe,result=ok} 2",
	} {
		if !slices.Contains(calls, want) {
			t.Errorf("missing: %s", want)
		}
	}
}

// of returns the sorted lines with a prefix.
func of(lines []string, prefix string) []string {
	found := slices.DeleteFunc(lines, func(line string) bool { return !strings.HasPrefix(line, prefix) })
	slices.Sort(found)
	return found
}
