package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/test/program"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

const (
	// namespace is the namespace of the components.
	namespace = "takeover"
	// ownerLabel is the label of all dependents.
	ownerLabel = "fairlead.io/owner-id"
	// kubeconfigName is the Secret with the kubeconfig of a component, which leads to the component's own cluster.
	kubeconfigName = "kubeconfig"
	// statusInventory is the maximum size in bytes of an inventory in a status. It is small, so that some inventories are
	// in Secrets.
	statusInventory = 600

	// quiesceTime is the maximum time until all components have the wanted state.
	quiesceTime = 3 * time.Minute
	// quietTime is the time without a request after which an operator is done. It is longer than a poll of an external.
	quietTime = 5 * time.Second
	glance    = 500 * time.Millisecond
)

// world contains a cluster, the running operator, and the components. Only the goroutine of the main thread uses it.
type world struct {
	settings

	cluster *testcluster.Cluster
	admin   client.Client
	service *service
	// kubeconfig is the path of the operator's kubeconfig, log the path of the log of both operators.
	kubeconfig, log string
	operator        *program.Operator
	stopping        *atomic.Bool
	// died receives the error if an operator ends although it was not stopped.
	died chan error
	// components are those that exist.
	components []*unstructured.Unstructured
	scenery    []*unstructured.Unstructured
}

// newWorld boots a cluster. The caller must call end.
func newWorld(ctx context.Context, of settings) (*world, error) {
	// The dev cluster is necessary, because pods must become ready.
	if err := os.Unsetenv("KUBEBUILDER_ASSETS"); err != nil {
		return nil, err
	}
	service, err := startService()
	if err != nil {
		return nil, err
	}
	cluster, err := testcluster.Start(ctx, testcluster.Options{Nodes: 1, Audit: true})
	if err != nil {
		return nil, errors.Join(err, service.close())
	}
	w := &world{settings: of, cluster: cluster, service: service, died: make(chan error, 1)}
	w.log = filepath.Join(filepath.Dir(cluster.Kubeconfig()), "operator.log")
	if err := w.furnish(ctx); err != nil {
		return nil, errors.Join(err, w.end())
	}
	return w, nil
}

// furnish installs the types and rights of the operators, and creates what the components need.
func (w *world) furnish(ctx context.Context) error {
	admin, identity, err := program.Furnish(ctx, w.cluster, "takeover")
	if err != nil {
		return err
	}
	w.admin, w.kubeconfig = admin, identity.Kubeconfig
	content, err := os.ReadFile(identity.Kubeconfig)
	if err != nil {
		return err
	}
	if w.components, w.scenery, err = readShapes(w.service.address); err != nil {
		return err
	}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: kubeconfigName},
			Data:       map[string][]byte{"value": content},
		},
	}
	for _, o := range w.scenery {
		objects = append(objects, o)
	}
	for _, o := range objects {
		if err := w.admin.Create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) end() error {
	err := w.service.close()
	if w.operator != nil {
		err = errors.Join(err, w.stopOperator())
	}
	return errors.Join(err, w.cluster.Stop())
}

// startOperator starts an operator without leader election, so that it need not wait for the Lease of the one before.
func (w *world) startOperator(executable string) error {
	stopping := &atomic.Bool{}
	o, err := program.StartProgram(executable, w.log, []string{
		"--kubeconfig=" + w.kubeconfig,
		"--metrics-bind-address=0",
		"--health-probe-bind-address=0",
		fmt.Sprintf("--max-status-inventory-bytes=%d", statusInventory),
	}, func(cause error) {
		if !stopping.Load() {
			w.died <- cause
		}
	})
	w.operator, w.stopping = o, stopping
	return err
}

// stopOperator ends the operator. If it does not end as expected, the last lines of its log are printed.
func (w *world) stopOperator() error {
	o := w.operator
	w.operator = nil // It is ended only once, also after an error.
	w.stopping.Store(true)
	err := o.Stop()
	if err != nil {
		program.Tail(w.log, w.out)
	}
	return err
}

// create creates all components.
func (w *world) create(ctx context.Context) error {
	for _, c := range w.components {
		if err := w.admin.Create(ctx, c.DeepCopy()); err != nil {
			return err
		}
	}
	return nil
}

// update gives all components another version.
func (w *world) update(ctx context.Context, text string) error {
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"values":{"text":%q}}}`, text))
	for _, c := range w.components {
		if err := w.admin.Patch(ctx, c.DeepCopy(), patch); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes components.
func (w *world) remove(ctx context.Context, components []*unstructured.Unstructured) error {
	deleted := map[string]bool{}
	for _, c := range components {
		if err := w.admin.Delete(ctx, c.DeepCopy()); err != nil {
			return err
		}
		deleted[c.GetName()] = true
	}
	var rest []*unstructured.Unstructured
	for _, c := range w.components {
		if !deleted[c.GetName()] {
			rest = append(rest, c)
		}
	}
	w.components = rest
	return nil
}

// quiesce waits until exactly the wanted components exist and are Ready, and the operator sends no more requests. It
// returns the operator's requests since the last call, without those of watches.
func (w *world) quiesce(ctx context.Context) (testcluster.Events, error) {
	var requests testcluster.Events
	deadline, last := time.Now().Add(quiesceTime), time.Now()
	for {
		events, _, err := w.cluster.DrainAudit(ctx)
		if err != nil {
			return nil, err
		}
		events = events.UserAgent(operatorAgent).Where(func(e testcluster.Event) bool {
			return e.Verb != "watch" && e.Resource != ""
		})
		if len(events) > 0 {
			requests, last = append(requests, events...), time.Now()
		}
		if len(requests) > 0 && time.Since(last) >= quietTime {
			wrong, err := w.wrong(ctx)
			if err != nil || len(wrong) == 0 {
				return requests, err
			}
			if time.Now().After(deadline) {
				return nil, program.Violations(wrong)
			}
		}
		if time.Now().After(deadline.Add(quietTime)) {
			return nil, fmt.Errorf("the operator still sends requests after %s", quiesceTime)
		}
		select {
		case <-time.After(glance):
		case err := <-w.died:
			program.Tail(w.log, w.out)
			return nil, err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// wrong returns everything that currently differs from the wanted state.
func (w *world) wrong(ctx context.Context) ([]string, error) {
	list := &v1alpha1.ComponentList{}
	if err := w.admin.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, c := range w.components {
		wanted[c.GetName()] = true
	}
	var wrong []string
	for i := range list.Items {
		c := &list.Items[i]
		ready := meta.FindStatusCondition(c.Status.Conditions, metav1alpha1.ConditionReady)
		switch {
		case !wanted[c.Name]:
			wrong = append(wrong, fmt.Sprintf("component %s was deleted, but still exists: %+v", c.Name, c.Status.Conditions))
		case ready == nil:
			wrong = append(wrong, fmt.Sprintf("component %s has no condition Ready", c.Name))
		case ready.Status != metav1.ConditionTrue, ready.ObservedGeneration != c.Generation:
			wrong = append(wrong, fmt.Sprintf("component %s is not Ready: %s: %s", c.Name, ready.Reason, ready.Message))
		}
	}
	if len(list.Items) < len(wanted) {
		wrong = append(wrong, fmt.Sprintf("of %d components %d exist", len(wanted), len(list.Items)))
	}
	return wrong, nil
}

// dependentLists are lists of the types that the shapes render.
func dependentLists() []*metav1.PartialObjectMetadataList {
	var lists []*metav1.PartialObjectMetadataList
	for _, kind := range []metav1.TypeMeta{
		{APIVersion: "v1", Kind: "ConfigMapList"},
		{APIVersion: "v1", Kind: "SecretList"},
		{APIVersion: "v1", Kind: "ServiceList"},
		{APIVersion: "v1", Kind: "ServiceAccountList"},
		{APIVersion: "v1", Kind: "NamespaceList"},
		{APIVersion: "apps/v1", Kind: "DeploymentList"},
		{APIVersion: "batch/v1", Kind: "JobList"},
		{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinitionList"},
	} {
		lists = append(lists, &metav1.PartialObjectMetadataList{TypeMeta: kind})
	}
	return lists
}
