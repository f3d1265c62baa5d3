package componenttest

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// setUp creates the namespace and the bystanders.
func (p *run[C]) setUp(ctx context.Context) error {
	err := p.client.Create(ctx, newObject("Namespace", "", p.namespace))
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("the namespace %s already exists, because an earlier run failed and kept it, or because another "+
			"scenario has the same name; set Scenario.Name, or delete the namespace with all objects in it", p.namespace)
	}
	if err != nil {
		return err
	}
	label, annotation := p.Reconciler+"/"+manifests.LabelOwnerID, p.Reconciler+"/"+manifests.AnnotationOwnerID
	plain, labelled, annotated := newObject("ConfigMap", p.namespace, "bystander"),
		newObject("ConfigMap", p.namespace, "bystander-labelled"), newObject("ConfigMap", p.namespace, "bystander-annotated")
	labelled.SetLabels(map[string]string{label: p.owner.ID()})
	annotated.SetAnnotations(map[string]string{annotation: p.owner.String()})
	bystanders := []client.Object{plain, labelled, annotated}
	if p.Bystanders != nil {
		bystanders = append(bystanders, p.Bystanders(p.namespace)...)
	}
	for _, o := range bystanders {
		if err := p.setUpBystander(ctx, o); err != nil {
			return fmt.Errorf("bystander %s: %w", o.GetName(), err)
		}
	}
	return nil
}

// setUpBystander creates a bystander and remembers it as the API server has it.
func (p *run[C]) setUpBystander(ctx context.Context, o client.Object) error {
	gvk, err := p.client.GroupVersionKindFor(o)
	if err != nil {
		return err
	}
	if err := p.client.Create(ctx, o); err != nil {
		return err
	}
	created := &unstructured.Unstructured{}
	created.SetGroupVersionKind(gvk)
	if err := p.client.Get(ctx, client.ObjectKeyFromObject(o), created); err != nil {
		return err
	}
	p.bystanders = append(p.bystanders, created)
	return nil
}

// checkBystanders says which objects of others were touched. A Secret with credentials of the component is released
// soon after the end of the component's deletion.
func (p *run[C]) checkBystanders(ctx context.Context) error {
	deadline := time.Now().Add(p.Timeout)
	for _, before := range p.bystanders {
		for {
			now := &unstructured.Unstructured{}
			now.SetGroupVersionKind(before.GroupVersionKind())
			if err := p.client.Get(ctx, client.ObjectKeyFromObject(before), now); err != nil {
				return fmt.Errorf("an object of others: %w", err)
			}
			if isTouched(before, now, p.Reconciler, p.owner) {
				return fmt.Errorf("%s %s, an object of others, was touched", now.GetKind(), now.GetName())
			}
			if !isHeld(now, p.Reconciler, p.owner) {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("%s %s, an object of others, still has the finalizer of the operator, although the component "+
					"was deleted", now.GetKind(), now.GetName())
			}
			select {
			case <-time.After(pollTime):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// heldLabel is the name of the label, after the name of the reconciler, of a Secret that has a finalizer of it.
const heldLabel = "held"

// isHeld reports whether an object has the finalizer by which an operator holds the credentials of a component.
func isHeld(o *unstructured.Unstructured, reconciler string, owner manifests.Owner) bool {
	return slices.Contains(o.GetFinalizers(), reconciler+"/"+owner.ID())
}

// isTouched reports whether an object was changed. A Secret may have, or have had, the finalizer and the label by which
// the operator holds the credentials of a component.
func isTouched(before, now *unstructured.Unstructured, reconciler string, owner manifests.Owner) bool {
	if now.GetUID() != before.GetUID() || now.GroupVersionKind() != corev1.SchemeGroupVersion.WithKind("Secret") {
		return now.GetUID() != before.GetUID() || now.GetResourceVersion() != before.GetResourceVersion()
	}
	return !equality.Semantic.DeepEqual(released(before, reconciler, owner), released(now, reconciler, owner))
}

// released returns a copy of an object without the finalizer and the label by which the operator holds it, and without
// the fields that change with each write.
func released(o *unstructured.Unstructured, reconciler string, owner manifests.Owner) map[string]any {
	o = o.DeepCopy()
	finalizers := slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == reconciler+"/"+owner.ID() })
	unstructured.RemoveNestedField(o.Object, "metadata", "finalizers")
	if len(finalizers) > 0 {
		o.SetFinalizers(finalizers)
	}
	labels := o.GetLabels()
	delete(labels, reconciler+"/"+heldLabel)
	unstructured.RemoveNestedField(o.Object, "metadata", "labels")
	if len(labels) > 0 {
		o.SetLabels(labels)
	}
	o.SetManagedFields(nil)
	o.SetResourceVersion("")
	return o.Object
}
