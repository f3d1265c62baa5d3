package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/source/fetch"
)

// polledInput is the name of the event source with the values of spec.inputs that are polled.
const polledInput = "polled"

// givenInput is the name of the event source whose values replace, in a preview, the values of objects in the cluster.
const givenInput = "given"

// maxPolledBytes is the maximum size of the response of a poll.
const maxPolledBytes = 256 << 10

// inputValues returns the values of spec.inputs, each at its place among the values.
func inputValues(ctx context.Context, c *v1alpha1.Component, req generator.Request) (map[string]any, error) {
	values := map[string]any{}
	var errs []error
	for i, input := range c.Spec.Inputs {
		value, err := inputValue(ctx, input, c.Namespace, req)
		if err != nil {
			errs = append(errs, &InputError{Index: i, Name: input.Name, Err: err})
			continue
		}
		if value == nil {
			continue
		}
		if err := unstructured.SetNestedField(values, value, input.Place()...); err != nil {
			errs = append(errs, &InputError{Index: i, Name: input.Name, Err: err})
		}
	}
	return values, errors.Join(errs...)
}

// inputValue returns the value of an input, nil if it has none.
func inputValue(
	ctx context.Context, input v1alpha1.Input, namespace string, req generator.Request,
) (any, error) {
	if given, ok := eventSourceValue(req, givenInput, input.Name); ok {
		return given, nil
	}
	if input.Object != nil {
		return objectValue(ctx, *input.Object, namespace, req.Local)
	}
	value, known := eventSourceValue(req, polledInput, input.Name)
	if !known {
		return nil, ErrNotPolled
	}
	return value, nil
}

// eventSourceValue returns the value of an input among the values of an event source.
func eventSourceValue(req generator.Request, eventSource, name string) (value any, known bool) {
	values, _ := req.Inputs[eventSource].(map[string]any)
	value, known = values[name]
	return value, known
}

// objectValue looks an object up, and returns the part of it that is the value.
func objectValue(
	ctx context.Context, o v1alpha1.ObjectInput, namespace string, lookup generator.Lookup,
) (any, error) {
	if lookup == nil {
		return nil, nil // A rendering without a cluster finds nothing.
	}
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return nil, err
	}
	if gv.Group == "" && o.Kind == "Secret" {
		return nil, errors.New("a Secret cannot be an input; name it in valuesFrom")
	}
	if o.Namespace != "" {
		namespace = o.Namespace
	}
	found, err := lookup.Get(ctx, gv.WithKind(o.Kind), namespace, o.Name)
	isMissing := apierrors.IsNotFound(err)
	switch {
	case o.Optional && (isMissing || meta.IsNoMatchError(err)):
		return nil, nil
	case isMissing:
		return nil, fmt.Errorf("%s does not exist: create it, or set object.optional", o.Title())
	case err != nil:
		return nil, err
	}
	content := found.DeepCopy()
	content.SetManagedFields(nil)
	content.SetResourceVersion("")
	if o.Field == "" {
		return content.Object, nil
	}
	value, exists, err := unstructured.NestedFieldCopy(content.Object, strings.Split(o.Field, ".")...)
	if err == nil && !exists && !o.Optional {
		err = fmt.Errorf("%s has no field %s: correct object.field, or set object.optional", o.Title(), o.Field)
	}
	return value, err
}

// polled are the values of the polls of a component, by the name of the input.
type polled map[string]polledValue

// polledValue is a polled value. Its JSON form is the value alone, so that the times do not count.
type polledValue struct {
	value any
	url   string
	// asked is the time at which the request for the value began.
	asked time.Time
	due   time.Time
}

// MarshalJSON implements json.Marshaler.
func (v polledValue) MarshalJSON() ([]byte, error) { return json.Marshal(v.value) }

// poller asks the addresses of spec.inputs.
type poller struct {
	client *fetch.HTTP
	values *eventsource.Values[*v1alpha1.Component, polled]
	// calls contains the time of the last call to each component.
	calls *lru.Cache
}

// maxCalls is the maximum number of components in poller.calls.
const maxCalls = 10_000

// askAll asks all addresses of a component at once.
func (p *poller) askAll(name types.NamespacedName) {
	p.calls.Add(name, time.Now())
	p.values.Refresh(name)
}

// newPoller returns a poller, whose values are an event source. It sends requests to the given hosts only. These hosts,
// and not the policy of addresses, limit polls.
func newPoller(o fetch.Options, hosts PollHosts) *poller {
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	o.Transport, o.Addresses = hostCheck{hosts, o.Transport}, nil
	p := &poller{client: fetch.NewHTTP(o), calls: lru.New(maxCalls)}
	p.values = eventsource.PollingEach(polledInput, eventsource.PollOptions[*v1alpha1.Component, polled]{
		Fetch: p.fetch,
		After: func(_ *v1alpha1.Component, values polled) time.Duration {
			next := time.Duration(0)
			for _, value := range values {
				if left := max(time.Until(value.due), time.Second); next == 0 || left < next {
					next = left
				}
			}
			return next
		},
		When: func(c *v1alpha1.Component) bool { return len(c.Polls()) > 0 },
		Key: func(c *v1alpha1.Component) string {
			var addresses []string
			for _, input := range c.Polls() {
				addresses = append(addresses, input.Name+" "+input.Poll.URL+" "+input.Poll.Every().String())
			}
			return strings.Join(addresses, "\n")
		},
	})
	return p
}

// dueInputs returns the names of the inputs whose addresses must be asked now: those that are due, and those that were
// not asked since the last call. The times of fetches are spread, so a poll that is due soon is asked now, and if none
// is due, those are asked that are due first.
func dueInputs(inputs []v1alpha1.Input, known polled, called, now time.Time) map[string]bool {
	due := map[string]bool{}
	for _, input := range inputs {
		last, found := known[input.Name]
		isDue := last.due.Before(now.Add(input.Poll.Every() / 4))
		if !found || last.asked.Before(called) || last.url != input.Poll.URL || isDue {
			due[input.Name] = true
		}
	}
	if len(due) > 0 || len(inputs) == 0 {
		return due
	}
	first := slices.MinFunc(inputs, func(a, b v1alpha1.Input) int { return known[a.Name].due.Compare(known[b.Name].due) })
	for _, input := range inputs {
		if known[input.Name].due.Before(known[first.Name].due.Add(input.Poll.Every() / 4)) {
			due[input.Name] = true
		}
	}
	return due
}

// fetch asks the addresses that are due.
func (p *poller) fetch(ctx context.Context, c *v1alpha1.Component) (polled, error) {
	known, _, _ := p.values.Get(c)
	return p.fetchAfter(ctx, c, known)
}

// fetchAfter asks the addresses that are due, and takes the other values from known. It does not forget a call: the
// event source drops all values of a fetch that fails, or during which another call came.
func (p *poller) fetchAfter(ctx context.Context, c *v1alpha1.Component, known polled) (polled, error) {
	call, _ := p.calls.Get(client.ObjectKeyFromObject(c))
	called, _ := call.(time.Time)
	now, fetched := time.Now(), polled{}
	due := dueInputs(c.Polls(), known, called, now)
	var errs []error
	for _, input := range c.Polls() {
		if !due[input.Name] {
			fetched[input.Name] = known[input.Name]
			continue
		}
		value, err := p.ask(ctx, input.Poll.URL)
		if err != nil {
			errs = append(errs, fmt.Errorf("input %s: %w", input.Name, err))
			continue
		}
		fetched[input.Name] = polledValue{value: value, url: input.Poll.URL, asked: now, due: now.Add(input.Poll.Every())}
	}
	return fetched, errors.Join(errs...)
}

// ask returns the value at an address. Errors do not quote the response.
func (p *poller) ask(ctx context.Context, url string) (any, error) {
	text, err := p.client.Get(ctx, url, maxPolledBytes)
	if refused, ok := errors.AsType[*hostError](err); ok {
		return nil, refused
	}
	if err != nil {
		return nil, err
	}
	if err := bounded.YAML(text, bounded.Limits{}); err != nil {
		if limit, ok := errors.AsType[*bounded.LimitError](err); ok && !limit.Quotes {
			return nil, errors.New("the response is refused: " + limit.Reason)
		}
		return nil, errors.New("the response is neither JSON nor YAML")
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, errors.New("the response is neither JSON nor YAML")
	}
	var value any
	if err := utiljson.Unmarshal(asJSON, &value); err != nil || value == nil {
		return nil, errors.New("the response contains no value")
	}
	return value, nil
}
