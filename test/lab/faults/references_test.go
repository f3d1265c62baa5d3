package faults_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// The names of the gadget that publishes an export, of the export, and of the dependent with its value that the gadget
// with the reference has.
const (
	giverName  = "giver"
	givenValue = "given"
	readerName = "reader"
)

// givenReference refers to the export that the giver publishes.
var givenReference = metav1alpha1.Reference{
	Kind: metav1alpha1.ComponentReference, Name: giverName, Export: givenValue,
}

// kills ends the operators of namespaces.
type kills struct {
	mu   sync.Mutex
	ends map[string]context.CancelFunc
}

// operator returns a function that runs an operator until it is killed.
func (k *kills) operator(
	run func(context.Context, *rest.Config, string) error,
) func(context.Context, *rest.Config, string) error {
	return func(ctx context.Context, config *rest.Config, namespace string) error {
		ctx, end := context.WithCancel(ctx)
		defer end()
		k.mu.Lock()
		k.ends[namespace] = end
		k.mu.Unlock()
		return run(ctx, config, namespace)
	}
}

// kill ends the operator of a namespace. The scenario runs the operator again.
func (k *kills) kill(namespace string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ends[namespace]()
}

// newGiver returns a gadget that publishes an export with a value.
func newGiver(namespace, value string) *gadget.Gadget {
	g := &gadget.Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: giverName}}
	g.Spec.Exports = []string{givenValue}
	g.Spec.Manifests = fmt.Sprintf(
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, annotations: {%s/export: %s=self.data.value}}, data: "+
			"{value: %s}}",
		giverName, reconciler, givenValue, value)
	return g
}

// give changes the export of the giver. An empty value means that the giver publishes no export.
func give(ctx context.Context, c client.Client, namespace, value string) error {
	return retry.RetryOnConflict(conflictBackoff, func() error {
		var g gadget.Gadget
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: giverName}, &g); err != nil {
			return err
		}
		if g.Spec.Exports = nil; value != "" {
			g.Spec = newGiver(namespace, value).Spec
		}
		return c.Update(ctx, &g)
	})
}

// changeGiven returns a function that gives the export a new value, and waits until the reader has it.
func changeGiven(value string) func(context.Context, client.Client, string) error {
	return func(ctx context.Context, c client.Client, namespace string) error {
		if err := give(ctx, c, namespace, value); err != nil {
			return err
		}
		return waitFor(ctx, "the reader does not get the new value of the export", func() (bool, error) {
			reader := configMapOf(namespace, readerName)
			err := c.Get(ctx, client.ObjectKeyFromObject(reader), reader)
			return reader.Data["value"] == fmt.Sprintf("%q", value), err
		})
	}
}

// withdraw returns a function that withdraws the export, changes the gadget that refers to it to another version, kills
// the operator between both, and publishes the export again with another value. Until then, the gadget is not rendered:
// no dependent is changed, created or deleted.
func (k *kills) withdraw(v graph, value string) func(context.Context, client.Client, string) error {
	return func(ctx context.Context, c client.Client, namespace string) error {
		before, err := dependentsOf(ctx, c, namespace)
		if err != nil {
			return err
		}
		if err := give(ctx, c, namespace, ""); err != nil {
			return err
		}
		if err := waitUntilWithdrawn(ctx, c, namespace); err != nil {
			return err
		}
		k.kill(namespace)
		if err := update(ctx, c, namespace, v); err != nil {
			return err
		}
		if err := waitUntilWithdrawn(ctx, c, namespace); err != nil {
			return err
		}
		missing, err := dependentsOf(ctx, c, namespace)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(before, missing); diff != "" {
			return fmt.Errorf("while the value of the reference is missing, the dependents are different:\n%s", diff)
		}
		if _, ok := missing["ConfigMap "+readerName]; !ok {
			return errors.New("the dependent with the value of the reference does not exist")
		}
		return give(ctx, c, namespace, value)
	}
}

// waitUntilWithdrawn waits until the status of the gadget says, for its current generation, that a published export is
// missing.
func waitUntilWithdrawn(ctx context.Context, c client.Client, namespace string) error {
	return waitFor(ctx, "the gadget does not wait for the export", func() (bool, error) {
		var g gadget.Gadget
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "app"}, &g)
		ready := meta.FindStatusCondition(g.Status.Conditions, metav1alpha1.ConditionReady)
		return ready != nil && ready.ObservedGeneration == g.Generation && ready.Reason == metav1alpha1.ReasonExportMissing,
			err
	})
}

// missingGiver deletes the giver after the deletion of the gadget, and returns which parts of the giver still exist.
func missingGiver(ctx context.Context, c client.Client, namespace string) []string {
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "app"}, &gadget.Gadget{})
	if !apierrors.IsNotFound(err) {
		return errorTexts(err)
	}
	if err := c.Delete(ctx, newGiver(namespace, "")); err == nil || !apierrors.IsNotFound(err) {
		return []string{fmt.Sprintf("the gadget with the export exists: %v", err)}
	}
	err = c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: giverName}, configMapOf(namespace, giverName))
	if err == nil {
		return []string{"the dependent of the gadget with the export exists"}
	}
	return errorTexts(client.IgnoreNotFound(err))
}

func errorTexts(err error) []string {
	if err == nil {
		return nil
	}
	return []string{err.Error()}
}
