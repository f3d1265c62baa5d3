package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/addresses"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/source/fetch"
)

func withInputs() *v1alpha1.Component {
	return &v1alpha1.Component{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop"},
		Spec: v1alpha1.ComponentSpec{Inputs: []v1alpha1.Input{
			{Name: "rates", Poll: &v1alpha1.PollInput{URL: "https://example.com/rates"}},
			{Name: "capacity", Path: "size", Object: &v1alpha1.ObjectInput{
				APIVersion: "v1", Kind: "ConfigMap",
				Name: "capacity",
			}},
		}},
	}
}

func TestGivenInputsReplacePollsAndObjects(t *testing.T) {
	g := NewWithT(t)
	rates := map[string]any{"eur": int64(2)}
	inputs, err := GivenInputs(withInputs(), map[string]any{"rates": rates, "capacity": "large"})
	g.Expect(err).NotTo(HaveOccurred())
	values, err := inputValues(t.Context(), withInputs(), generator.Request{Inputs: inputs})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(values).To(Equal(map[string]any{"inputs": map[string]any{"rates": rates}, "size": "large"}))
	// The digest of an input is the digest of its JSON form.
	given, err := json.Marshal(inputs[polledInput])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Marshal(polled{"rates": polledValue{value: rates, url: "https://example.com/rates"}})).To(Equal(given))
}

func TestAnInputWithoutAValueIsRefused(t *testing.T) {
	g := NewWithT(t)
	_, err := inputValues(t.Context(), withInputs(), generator.Request{})
	g.Expect(err).To(MatchError(ErrNotPolled))
	g.Expect(err).To(MatchError(ContainSubstring("spec.inputs[0] (rates)")))
	_, err = GivenInputs(withInputs(), map[string]any{"rates": 1, "rate": 1, "b": 1})
	g.Expect(err).To(MatchError(And(ContainSubstring(`shops/shop has no input "rate"`), ContainSubstring(`no input "b"`))))
}

func TestACallAsksAllAddressesAndAPollThoseThatAreDue(t *testing.T) {
	now := time.Now()
	call := now.Add(-time.Second)
	input := func(name, url string, every time.Duration) v1alpha1.Input {
		return v1alpha1.Input{Name: name, Poll: &v1alpha1.PollInput{URL: url, Interval: &metav1.Duration{Duration: every}}}
	}
	inputs := []v1alpha1.Input{input("often", "https://a", time.Minute), input("seldom", "https://b", time.Hour)}
	before := call.Add(-time.Second)
	fresh := polled{
		"often":  {url: "https://a", asked: before, due: now.Add(time.Minute)},
		"seldom": {url: "https://b", asked: before, due: now.Add(time.Hour)},
	}
	after := polled{"often": fresh["often"], "seldom": {url: "https://b", asked: call, due: now.Add(time.Hour)}}
	soon := polled{"often": {url: "https://a", due: now.Add(10 * time.Second)}, "seldom": fresh["seldom"]}
	moved := polled{"often": fresh["often"], "seldom": {url: "https://old", due: now.Add(time.Hour)}}
	for _, c := range []struct {
		name   string
		known  polled
		called time.Time
		want   []string
	}{
		{"at the start", nil, time.Time{}, []string{"often", "seldom"}},
		{"one is due soon", soon, time.Time{}, []string{"often"}},
		{"one is due soon, and a call came", soon, call, []string{"often", "seldom"}},
		{"one has another address", moved, time.Time{}, []string{"seldom"}},
		{"none is due", fresh, time.Time{}, []string{"often"}},
		{"a call came", fresh, call, []string{"often", "seldom"}},
		{"a call came, and one was asked since then", after, call, []string{"often"}},
	} {
		got := slices.Sorted(maps.Keys(dueInputs(inputs, c.known, c.called, now)))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// An event source drops the values of a fetch during which another call came.
func TestACallIsNotLostWithTheValuesOfAFetch(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, requests.Add(1))
	}))
	defer server.Close()
	// The hosts limit polls, and the policy of addresses does not.
	p := newPoller(fetch.Options{Addresses: &addresses.Policy{}}, PollHosts{"127.0.0.1"})
	c := withInputs()
	c.Spec.Inputs = []v1alpha1.Input{
		{Name: "often", Poll: &v1alpha1.PollInput{URL: server.URL, Interval: &metav1.Duration{Duration: time.Minute}}},
		{Name: "seldom", Poll: &v1alpha1.PollInput{URL: server.URL, Interval: &metav1.Duration{Duration: time.Hour}}},
	}
	fetchAfter := func(known polled) polled {
		fetched, err := p.fetchAfter(t.Context(), c, known)
		if err != nil {
			t.Fatal(err)
		}
		return fetched
	}
	known := fetchAfter(nil)
	p.askAll(client.ObjectKeyFromObject(c))
	fetchAfter(known) // Its values are dropped.
	known = fetchAfter(known)
	if requests.Load() != 6 {
		t.Errorf("%d requests, want 6: the values of the second fetch were dropped", requests.Load())
	}
	fetchAfter(known)
	if requests.Load() != 7 {
		t.Errorf("%d requests, want 7: all addresses were asked after the call", requests.Load())
	}
}

// found answers look-ups with objects by "Kind namespace/name".
type found map[string]map[string]any

func (f found) Get(
	_ context.Context, gvk schema.GroupVersionKind, namespace, name string,
) (*unstructured.Unstructured, error) {
	content, ok := f[gvk.Kind+" "+namespace+"/"+name]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: gvk.Kind}, name)
	}
	return &unstructured.Unstructured{Object: content}, nil
}

func (found) List(context.Context, schema.GroupVersionKind, string) (*unstructured.UnstructuredList, error) {
	return nil, errors.New("no lists")
}

func TestReadInputsReadsObjectsThatAreNotGiven(t *testing.T) {
	g := NewWithT(t)
	c := withInputs()
	c.Spec.Inputs[1].Object.Field = "data"
	objects := found{"ConfigMap shops/capacity": {"data": map[string]any{"cpu": "2"}}}
	values := func(inputs map[string]any) map[string]any {
		values, err := inputValues(t.Context(), c, generator.Request{Inputs: inputs})
		g.Expect(err).NotTo(HaveOccurred())
		return values
	}
	inputs, err := ReadInputs(t.Context(), c, map[string]any{"rates": int64(3)}, objects)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(values(inputs)).To(Equal(map[string]any{
		"inputs": map[string]any{"rates": int64(3)}, "size": map[string]any{"cpu": "2"},
	}))
	inputs, err = ReadInputs(t.Context(), c, map[string]any{"rates": int64(3), "capacity": "given"}, found{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(values(inputs)).To(HaveKeyWithValue("size", "given"))

	_, err = ReadInputs(t.Context(), c, nil, found{})
	g.Expect(err).To(MatchError(ErrNotPolled))
	g.Expect(err).To(MatchError("spec.inputs[0] (rates): only the operator in the cluster knows the polled value\n" +
		"spec.inputs[1] (capacity): ConfigMap capacity does not exist: create it, or set object.optional"))
	var names []string
	for _, input := range InputErrors(fmt.Errorf("render: %w", err)) {
		names = append(names, input.Name)
	}
	g.Expect(names).To(Equal([]string{"rates", "capacity"}))
	g.Expect(InputErrors(errors.New("other"))).To(BeEmpty())

	c.Spec.Inputs[1].Object.Field, c.Spec.Inputs[1].Object.Namespace = "status", "team"
	objects["ConfigMap team/capacity"] = map[string]any{}
	_, err = ReadInputs(t.Context(), c, map[string]any{"rates": int64(3)}, objects)
	g.Expect(err).To(MatchError(ContainSubstring("ConfigMap team/capacity has no field status: correct object.field")))
	c.Spec.Inputs[1].Object.Optional = true
	inputs, err = ReadInputs(t.Context(), c, map[string]any{"rates": int64(3)}, objects)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(values(inputs)).NotTo(HaveKey("size"))
}
