package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/test/program"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

const (
	// quiesceTime is the maximum time until all components have the wanted state after the last operation. It is longer
	// than the 5 minutes in which an operator searches the dependents only once if the status of a component is emptied
	// again and again.
	quiesceTime = 6 * time.Minute
	// quietTime is the time without a request after which the operator is done.
	quietTime = 3 * time.Second
	glance    = 500 * time.Millisecond
	// operatorAgent is the prefix of the user agent of the operator's requests.
	operatorAgent = "fairlead-operator"
)

// quiesce waits until all components have the wanted state, and the operator sends no more requests.
func (w *world) quiesce(ctx context.Context) error {
	w.lastRequest = time.Now()
	deadline := w.lastRequest.Add(quiesceTime)
	for {
		restless, err := w.restless(ctx)
		if err != nil {
			return err
		}
		wrong, err := w.wrong(ctx)
		if wrong = append(wrong, restless...); err != nil || len(wrong) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return program.Violations(wrong)
		}
		select {
		case <-time.After(glance):
		case err := <-w.died:
			return w.crash(err)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// restless returns a message if the operator has sent requests within the quiet time.
func (w *world) restless(ctx context.Context) ([]string, error) {
	events, err := w.drain(ctx)
	if err != nil {
		return nil, err
	}
	if len(events) > 0 {
		w.lastRequest = time.Now()
	}
	if time.Since(w.lastRequest) >= quietTime {
		return nil, nil
	}
	return []string{"the operator still sends requests; the last requests are " + describe(events)}, nil
}

// readAudit reads the audit log and counts the operator's requests.
func (w *world) readAudit(ctx context.Context) error {
	_, err := w.drain(ctx)
	return err
}

// drain counts the operator's requests since the last call, and returns the requests that do not belong to a watch.
func (w *world) drain(ctx context.Context) (testcluster.Events, error) {
	events, watches, err := w.cluster.DrainAudit(ctx)
	if err != nil {
		return nil, err
	}
	w.watches = watches.UserAgent(operatorAgent)
	events = events.UserAgent(operatorAgent)
	for _, e := range events {
		w.requests[strings.TrimSpace(e.Verb+" "+e.Resource)]++
	}
	return events.Where(func(e testcluster.Event) bool { return e.Verb != "watch" && e.Resource != "" }), nil
}

// describe returns the last requests as text.
func describe(events testcluster.Events) string {
	if len(events) == 0 {
		return "nothing"
	}
	var last []string
	for _, e := range events[max(0, len(events)-5):] {
		last = append(last, fmt.Sprintf("%s %s %d", e.Verb, e.RequestURI, e.Code))
	}
	return strings.Join(last, ", ")
}

// wrong returns everything that currently differs from the wanted state.
func (w *world) wrong(ctx context.Context) ([]string, error) {
	list := &v1alpha1.ComponentList{}
	if err := w.admin.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	var wrong []string
	found := map[string]*v1alpha1.Component{}
	for i := range list.Items {
		c := &list.Items[i]
		found[c.Name] = c
		if w.population[c.Name] == nil {
			wrong = append(wrong, fmt.Sprintf("component %s was deleted, but still exists: %s", c.Name, standing(c)))
		} else if !isReady(c) {
			wrong = append(wrong, fmt.Sprintf("component %s is not Ready: %s", c.Name, standing(c)))
		}
	}
	for _, name := range w.names("") {
		if found[name] == nil {
			wrong = append(wrong, fmt.Sprintf("component %s does not exist", name))
		}
	}
	if len(wrong) > 0 {
		return wrong, nil
	}
	// The objects of components are checked only if all components report that they are ready.
	others, err := w.wrongObjects(ctx, found)
	slices.Sort(others)
	return others, err
}

func isReady(c *v1alpha1.Component) bool {
	ready := meta.FindStatusCondition(c.Status.Conditions, metav1alpha1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == c.Generation &&
		c.DeletionTimestamp == nil
}

// standing returns the condition Ready of a component as text.
func standing(c *v1alpha1.Component) string {
	ready := meta.FindStatusCondition(c.Status.Conditions, metav1alpha1.ConditionReady)
	if ready == nil {
		return "the component has no condition Ready"
	}
	return fmt.Sprintf("%s, generation %d of %d: %s", ready.Reason, ready.ObservedGeneration, c.Generation, ready.Message)
}
