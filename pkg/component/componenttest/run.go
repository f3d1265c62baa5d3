package componenttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const (
	// restTime without a request says that an operator has come to rest.
	restTime = 500 * time.Millisecond
	pollTime = 100 * time.Millisecond
)

// conflictBackoff lets a step repeat a change for about 10 seconds. On a busy machine the operator can write the
// component several times between the read and the update of a step.
var conflictBackoff = wait.Backoff{Steps: 10, Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.1}

// record is what a run left, step by step.
type record struct {
	steps []outcome
	types map[target]bool
}

// outcome is what a step left, and how many requests it took.
type outcome struct {
	state    snapshot
	requests int
}

// run is one run of a scenario.
type run[C component.Component] struct {
	Scenario[C]
	namespace string
	name      string
	owner     manifests.Owner
	client    client.Client
	dynamic   dynamic.Interface
	injector  *Injector
	cloud     *Cloud
	// reference is what the run without faults left; nil in that run.
	reference  *record
	record     *record
	bystanders []*unstructured.Unstructured
}

// run runs the scenario in a namespace of its own, which stays where it fails.
func (s Scenario[C]) run(ctx context.Context, reference *record, namespace string, f Faults) (*run[C], error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p, err := s.newRun(ctx, reference, namespace, f)
	if err != nil {
		return nil, err
	}
	if err := p.setUp(ctx); err != nil {
		return nil, fmt.Errorf("set the scene: %w", err)
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := p.operate(working); err != nil {
			cancel(err)
		}
	}()
	err = p.acts(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	stop()
	<-ended
	if err != nil {
		return p, fmt.Errorf("%w\nthe namespace %s is kept; what happened:\n  %s",
			err, namespace, strings.Join(p.injector.Log(), "\n  "))
	}
	return p, p.tearDown(ctx)
}

func (s Scenario[C]) newRun(ctx context.Context, reference *record, namespace string, f Faults) (*run[C], error) {
	p := &run[C]{
		Scenario: s, namespace: namespace, reference: reference, injector: NewInjector(ctx, f),
		record: &record{types: map[target]bool{}},
	}
	config := rest.CopyConfig(s.Config)
	config.QPS = -1
	var err error
	if p.client, err = client.New(config, client.Options{Scheme: s.Scheme}); err != nil {
		return nil, err
	}
	if p.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	c := s.Component(namespace)
	p.name = c.GetName()
	gvk, err := apiutil.GVKForObject(c, s.Scheme)
	if err != nil {
		return nil, err
	}
	system := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	if err := p.client.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &system); err != nil {
		return nil, err
	}
	p.owner = manifests.Owner{
		Cluster: string(system.UID), Reconciler: s.Reconciler,
		Group: gvk.Group, Kind: gvk.Kind, Namespace: namespace, Name: p.name,
	}
	if reference != nil {
		maps.Copy(p.record.types, reference.types)
	}
	if s.Cloud != nil {
		p.cloud = s.Cloud(namespace)
		p.cloud.Put(foreign())
		p.cloud.SetFault(p.injector.cloudFault)
	}
	return p, nil
}

func (p *run[C]) tearDown(ctx context.Context) error {
	for _, o := range p.bystanders {
		if err := p.client.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return p.client.Delete(ctx, newObject("Namespace", "", p.namespace))
}

// newObject returns an empty object of a type of Kubernetes' core, which an author's scheme need not know.
func newObject(kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("v1")
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// acts goes through the life of the component.
func (p *run[C]) acts(ctx context.Context) error {
	install := Step[C]{Name: "install", Disturb: func(ctx context.Context, c client.Client, namespace string) error {
		return c.Create(ctx, p.Component(namespace))
	}}
	remove := Step[C]{Name: "delete", Disturb: func(ctx context.Context, c client.Client, namespace string) error {
		return c.Delete(ctx, p.Component(namespace))
	}}
	steps := append([]Step[C]{install}, p.Steps...)
	for i, step := range append(steps, remove) {
		if err := p.act(ctx, i, step); err != nil {
			return fmt.Errorf("step %q: %w", step.Name, err)
		}
	}
	return p.checkBystanders(ctx)
}

// act does a step and waits until it has come to its end.
func (p *run[C]) act(ctx context.Context, i int, step Step[C]) error {
	expected := 0
	if p.reference != nil {
		expected = p.reference.steps[i].requests
	}
	crashes, cloudCrashes := p.injector.faults.crashes(step.Name, expected, p.cloud != nil)
	p.injector.begin(step.Name, crashes, cloudCrashes)
	if err := p.do(ctx, step); err != nil {
		return err
	}
	deadline := time.Now().Add(p.Timeout)
	for {
		state, problems := p.arrived(ctx, i)
		if err := p.resolve(ctx); err != nil {
			problems = append(problems, err.Error())
		}
		if len(problems) == 0 {
			count, _, _ := p.injector.requests()
			p.record.steps = append(p.record.steps, outcome{state: state, requests: count})
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("it did not come to its end within %s:\n  %s", p.Timeout, strings.Join(problems, "\n  "))
		}
		select {
		case <-time.After(pollTime):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (p *run[C]) do(ctx context.Context, step Step[C]) error {
	return retry.OnError(conflictBackoff, apierrors.IsConflict, func() error {
		if step.Disturb != nil {
			if err := step.Disturb(ctx, p.client, p.namespace); err != nil {
				return err
			}
		}
		if step.Change == nil {
			return nil
		}
		c, err := p.current(ctx)
		if err != nil {
			return err
		}
		step.Change(c)
		return p.client.Update(ctx, c)
	})
}

// current reads the component.
func (p *run[C]) current(ctx context.Context) (C, error) {
	c, ok := reflect.TypeAssert[C](reflect.New(reflect.TypeFor[C]().Elem()))
	if !ok {
		return c, errors.New("a component is a pointer to a struct")
	}
	return c, p.client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: p.name}, c)
}
