package metrics

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const reconciler = "test.fairlead.io"

var configMaps = schema.GroupKind{Kind: "ConfigMap"}

// newMeter returns a meter, and a function that returns its series as "name{labels} value". The value of a histogram is
// its count.
func newMeter(t *testing.T) (*Meter, func() []string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	instruments := NewInstruments()
	if err := instruments.RegisterIn(registry); err != nil {
		t.Fatal(err)
	}
	return instruments.Meter(reconciler), func() []string {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				lines = append(lines, family.GetName()+labelsOf(metric)+" "+fmt.Sprint(valueOf(metric)))
			}
		}
		// The series of steps without executions are left out, because each step has a series from the start.
		return slices.DeleteFunc(lines, func(line string) bool {
			return strings.HasSuffix(line, "} 0") && strings.Contains(line, "step=")
		})
	}
}

func labelsOf(metric *dto.Metric) string {
	var labels []string
	for _, l := range metric.GetLabel() {
		if l.GetName() != labelReconciler {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
	}
	return "{" + strings.Join(labels, ",") + "}"
}

func valueOf(metric *dto.Metric) float64 {
	return metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(
		metric.GetHistogram().GetSampleCount(),
	)
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// answering is a transport that returns a response with a status code, or an error if the code is 0.
type answering int

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	if a == 0 {
		return nil, errors.New("no answer")
	}
	return &http.Response{StatusCode: int(a), Body: http.NoBody}, nil
}

func TestRequestsAreCountedByVerbKindAndCode(t *testing.T) {
	m, series := newMeter(t)
	send := func(code answering, method, contentType string, kind schema.GroupKind) {
		r := httptest.NewRequestWithContext(WithKind(t.Context(), kind), method, "/", http.NoBody)
		r.Header.Set("Content-Type", contentType)
		response, err := m.Transport(code).RoundTrip(r)
		if err == nil {
			_ = response.Body.Close()
		}
	}
	deployments := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	send(201, http.MethodPost, "", configMaps)
	send(201, http.MethodPost, "", configMaps)
	send(409, http.MethodPost, "", configMaps)
	send(200, http.MethodGet, "", deployments)
	send(200, http.MethodPut, "", deployments)
	send(200, http.MethodPatch, "application/apply-patch+yaml", deployments)
	send(200, http.MethodPatch, "application/merge-patch+json", deployments)
	send(0, http.MethodDelete, "", deployments)
	expect(t, series(),
		"fairlead_requests_total{code=200,group=apps,kind=Deployment,verb=apply} 1",
		"fairlead_requests_total{code=200,group=apps,kind=Deployment,verb=get} 1",
		"fairlead_requests_total{code=200,group=apps,kind=Deployment,verb=patch} 1",
		"fairlead_requests_total{code=200,group=apps,kind=Deployment,verb=update} 1",
		"fairlead_requests_total{code=201,group=,kind=ConfigMap,verb=create} 2",
		"fairlead_requests_total{code=409,group=,kind=ConfigMap,verb=create} 1",
		"fairlead_requests_total{code=<error>,group=apps,kind=Deployment,verb=delete} 1",
	)
}

func TestRequestsWithoutADependentAreNotCounted(t *testing.T) {
	m, series := newMeter(t)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	response, err := m.Transport(answering(200)).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	expect(t, series())
}

func TestThePartsOfAPassAreCounted(t *testing.T) {
	m, series := newMeter(t)
	m.CountPass("Ready")
	m.CountPass("Ready")
	m.StartStep(StepPlan)()
	m.ObserveTimeToReady(time.Second)
	m.CountRepair(configMaps, CauseDeleted)
	expect(t, series(),
		"fairlead_drift_repaired_total{cause=deleted,group=,kind=ConfigMap} 1",
		"fairlead_pass_step_duration_seconds{step=plan} 1",
		"fairlead_passes_total{outcome=Ready} 2",
		"fairlead_time_to_ready_seconds{} 1",
	)
}

func TestSeriesOfAComponentFollowItsState(t *testing.T) {
	m, series := newMeter(t)
	p := m.NewComponentSet([]string{"Ready", "Stalled"}, true)
	shop, cart := types.NamespacedName{Namespace: "a", Name: "shop"}, types.NamespacedName{Namespace: "a", Name: "cart"}
	expect(t, series())

	m.Export(p)
	expect(t, series(), "fairlead_components{state=Ready} 0", "fairlead_components{state=Stalled} 0")

	p.Set(shop, Component{State: "Ready", Ready: 3})
	p.SetIfUnknown(cart, Component{State: "Ready", Ready: 2})
	p.Set(shop, Component{State: "Stalled", Ready: 1, Unready: 2, RepairConflicts: 1})
	p.SetIfUnknown(shop, Component{State: "Ready", Ready: 9})
	expect(t, series(),
		"fairlead_component_dependents{name=cart,namespace=a,readiness=ready} 2",
		"fairlead_component_dependents{name=cart,namespace=a,readiness=unready} 0",
		"fairlead_component_dependents{name=shop,namespace=a,readiness=ready} 1",
		"fairlead_component_dependents{name=shop,namespace=a,readiness=unready} 2",
		"fairlead_component_repair_conflicts{name=cart,namespace=a} 0",
		"fairlead_component_repair_conflicts{name=shop,namespace=a} 1",
		"fairlead_component_state{name=cart,namespace=a,state=Ready} 1",
		"fairlead_component_state{name=shop,namespace=a,state=Stalled} 1",
		"fairlead_components{state=Ready} 1", "fairlead_components{state=Stalled} 1",
	)

	p.Forget(shop)
	p.Forget(cart)
	expect(t, series(), "fairlead_components{state=Ready} 0", "fairlead_components{state=Stalled} 0")

	m.StopExport(p)
	expect(t, series())
}

func TestSeriesPerComponentCanBeTurnedOff(t *testing.T) {
	m, series := newMeter(t)
	p := m.NewComponentSet([]string{"Ready"}, false)
	m.Export(p)
	p.Set(types.NamespacedName{Name: "shop"}, Component{State: "Ready", Ready: 3})
	expect(t, series(), "fairlead_components{state=Ready} 1")
}

func TestAComponentOfTwoReconcilersWithTheSameNameCountsOnce(t *testing.T) {
	m, series := newMeter(t)
	for range 2 {
		p := m.NewComponentSet(nil, true)
		m.Export(p)
		p.Set(types.NamespacedName{Namespace: "a", Name: "shop"}, Component{State: "Ready", Ready: 3})
	}
	expect(t, series(),
		"fairlead_component_dependents{name=shop,namespace=a,readiness=ready} 3",
		"fairlead_component_dependents{name=shop,namespace=a,readiness=unready} 0",
		"fairlead_component_repair_conflicts{name=shop,namespace=a} 0",
		"fairlead_component_state{name=shop,namespace=a,state=Ready} 1",
		"fairlead_components{state=Ready} 1",
	)
}

func TestMetersCountFromManyGoroutines(t *testing.T) {
	m, series := newMeter(t)
	p := m.NewComponentSet(nil, true)
	m.Export(p)
	const workers = 50
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			m.CountPass("Ready")
			m.request(requestKey{kind: configMaps, verb: "create", code: 201}).Inc()
			p.Set(types.NamespacedName{Name: "shop"}, Component{State: "Ready"})
			series()
		})
	}
	wg.Wait()
	for _, want := range []string{
		fmt.Sprintf("fairlead_passes_total{outcome=Ready} %d", workers),
		fmt.Sprintf("fairlead_requests_total{code=201,group=,kind=ConfigMap,verb=create} %d", workers),
	} {
		if got := series(); !slices.Contains(got, want) {
			t.Errorf("the series %s is missing in %s", want, got)
		}
	}
}

func TestRegisteringAgainIsNoError(t *testing.T) {
	for range 2 {
		if err := Register(); err != nil {
			t.Fatal(err)
		}
	}
	if steps := slices.Sorted(maps.Keys(Shared.Meter(reconciler).stepTimes)); len(steps) != 7 {
		t.Errorf("the reconciler has the steps %s, want 7", steps)
	}
}

func BenchmarkCountRequest(b *testing.B) {
	m := NewInstruments().Meter(reconciler)
	key := requestKey{kind: configMaps, verb: "create", code: 201}
	b.ReportAllocs()
	for b.Loop() {
		m.request(key).Inc()
	}
}
