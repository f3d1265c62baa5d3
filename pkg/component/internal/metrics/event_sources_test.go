package metrics

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSourcesAreCountedByKindNameAndResult(t *testing.T) {
	m, series := newMeter(t)
	m.CountEventSource("polling", "quota", "woke", 2)
	m.CountEventSource("polling", "quota", "woke", 1)
	m.CountEventSource("related", "settings", "failed", 1)
	stop := m.ExportEventSources(func() []EventSource {
		return []EventSource{
			{Kind: "polling", Name: "quota", Values: 3, Stale: 1, Answered: time.Unix(100, 0)},
			{Kind: "inbound", Name: "mail"},
		}
	})
	want := []string{
		"fairlead_source_last_answer_timestamp_seconds{kind=polling,source=quota} 100",
		"fairlead_source_results_total{kind=polling,result=woke,source=quota} 3",
		"fairlead_source_results_total{kind=related,result=failed,source=settings} 1",
		"fairlead_source_stale_components{kind=inbound,source=mail} 0",
		"fairlead_source_stale_components{kind=polling,source=quota} 1",
		"fairlead_source_values{kind=inbound,source=mail} 0",
		"fairlead_source_values{kind=polling,source=quota} 3",
	}
	if diff := cmp.Diff(want, of(series(), "fairlead_source")); diff != "" {
		t.Error(diff)
	}
	stop()
	if left := of(series(), "fairlead_source_values"); len(left) > 0 {
		t.Errorf("series of a controller that has ended: %v", left)
	}
}

func TestTheNumberOfNamesOfSourcesIsLimited(t *testing.T) {
	m, series := newMeter(t)
	var all []EventSource
	for n := range maxEventSources + 10 {
		all = append(all, EventSource{
			Kind: "inbound", Name: fmt.Sprint("source-", n), Values: 1,
			Answered: time.Unix(int64(n), 0),
		})
	}
	m.ExportEventSources(func() []EventSource { return all })
	values := of(series(), "fairlead_source_values")
	if len(values) != maxEventSources+1 || !slices.Contains(values,
		"fairlead_source_values{kind=inbound,source=<other>} 10") {
		t.Errorf("%d series: %v", len(values), values)
	}
	m.CountEventSource("inbound", "one-more", "equal", 1)
	want := []string{"fairlead_source_results_total{kind=inbound,result=equal,source=<other>} 1"}
	if diff := cmp.Diff(want, of(series(), "fairlead_source_results")); diff != "" {
		t.Error(diff)
	}
	answered := of(series(), "fairlead_source_last_answer_timestamp_seconds{kind=inbound,source=<other>}")
	if want := []string{fmt.Sprintf("fairlead_source_last_answer_timestamp_seconds{kind=inbound,source=<other>} %d",
		maxEventSources+9)}; !slices.Equal(answered, want) {
		t.Errorf("%v, want %v", answered, want)
	}
}
