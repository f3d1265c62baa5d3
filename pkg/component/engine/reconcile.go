package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/logging"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Reconcile makes one pass over the dependents of an object, which the caller has just read. It adds the finalizer
// NAME/finalizer to the object, where NAME is the name of the engine, before it writes anything else, and applies what
// render returns. If the object is being deleted, Reconcile deletes the dependents without a call of render, and
// removes the finalizer when none of them exists any more. The dependents stay as they are while the object has
// finalizers of other controllers.
//
// p is as for Apply, without an owner. p.Wake is by default the event source of Source. The caller must call Reconcile
// again after an error, and when Outcome.NextDue is due; see ResultOf. If the object does not exist any more, the
// caller must call Forget.
func (s *Standalone) Reconcile(
	ctx context.Context, obj client.Object, p Request,
	render func(context.Context) ([]*unstructured.Unstructured, error),
) (result.Outcome, error) {
	p, err := s.passOver(obj, p)
	if err != nil {
		return result.Outcome{}, err
	}
	ours := s.finalizers()
	if !obj.GetDeletionTimestamp().IsZero() {
		return s.deleteWith(ctx, obj, p)
	}
	state := loading{isNew: !ours.Holds(obj), isCurrent: s.isCurrent(obj, p.Owner)}
	if state.isNew {
		// The finalizer is written first, so that an object without it has no dependents.
		if err := s.setFinalizers(ctx, obj, append(obj.GetFinalizers(), ours.Own)); err != nil {
			return result.Outcome{}, err
		}
	}
	rendered, err := render(ctx)
	if err != nil {
		return result.Outcome{}, err
	}
	return s.apply(ctx, p, rendered, state)
}

// isCurrent returns a function that asks the API server whether an object is outdated. Another process may have deleted
// it and its dependents since it was read, or it may have been created again.
func (s *Standalone) isCurrent(obj client.Object, owner manifests.Owner) func(context.Context) error {
	uid, deleting := obj.GetUID(), !obj.GetDeletionTimestamp().IsZero()
	return func(ctx context.Context) error {
		live, err := s.live(ctx, owner)
		switch {
		case err != nil:
			return err
		case live == nil || live.UID != uid || (live.DeletionTimestamp != nil) != deleting || !s.finalizers().Holds(live):
			return fmt.Errorf("%s was deleted or changed since it was read", owner.Component())
		}
		return nil
	}
}

// passOver enters the owner, and the default of Wake, into a pass over an object.
func (s *Standalone) passOver(obj client.Object, p Request) (Request, error) {
	if s.options.Client == nil {
		return p, errors.New("StandaloneOptions.Client is required for Reconcile")
	}
	if p.Owner != (manifests.Owner{}) {
		return p, errors.New("Request.Owner must be empty for Reconcile, because the object is the owner")
	}
	gvk, err := s.options.Client.GroupVersionKindFor(obj)
	if err != nil {
		return p, err
	}
	p.Owner = manifests.Owner{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if p.Wake == nil {
		p.Wake, err = s.wake(client.ObjectKeyFromObject(obj))
	}
	return p, err
}

// deleteWith makes one pass over the dependents of an object that is being deleted.
func (s *Standalone) deleteWith(ctx context.Context, obj client.Object, p Request) (result.Outcome, error) {
	ours := s.finalizers()
	if !ours.Holds(obj) {
		return result.Outcome{}, s.Forget(ctx, p.Owner)
	}
	others := ours.Others(obj)
	if len(others) > 0 {
		next := clock.RealClock{}.Now().Add(time.Minute) // Nothing may tell of a removed finalizer.
		return result.Outcome{NextDue: next, Waiting: []result.Waiting{{DependentReport: metav1alpha1.DependentReport{
			Dependent: p.Owner.Component().String(), Reason: string(metav1alpha1.ReasonForeignFinalizers),
			Message: "dependents are not deleted until other controllers have removed their finalizers: " +
				strings.Join(others, ", "),
		}}}}, nil
	}
	outcome, err := s.remove(ctx, p, loading{deleting: true, isCurrent: s.isCurrent(obj, p.Owner)})
	if err != nil || !outcome.Done() || len(outcome.Inventory) > 0 {
		return outcome, err
	}
	return outcome, s.setFinalizers(ctx, obj, others)
}

// setFinalizers writes the finalizers of an object. It fails with a conflict if the object changed since it was read.
func (s *Standalone) setFinalizers(ctx context.Context, obj client.Object, finalizers []string) error {
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is not an object of the API", obj)
	}
	obj.SetFinalizers(finalizers)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := s.options.Client.Patch(ctx, obj, patch, client.FieldOwner(s.engine.name))
	if err != nil {
		obj.SetFinalizers(before.GetFinalizers())
		return fmt.Errorf("write the finalizers of %s: %w", client.ObjectKeyFromObject(obj), err)
	}
	return nil
}

// Forget drops the state of an owner that does not exist: its watches, its state in memory, and its Secret. The owner
// needs Group, Kind, Namespace and Name only. The caller must call Forget when the object of an owner is not found. If
// somebody removed the finalizer by hand, the dependents of the object remain in the cluster, and Forget logs their
// number and their label. Forget changes nothing if the object exists nevertheless, because a cache does not have it
// yet.
func (s *Standalone) Forget(ctx context.Context, owner manifests.Owner) error {
	ctx = logging.Context(ctx)
	owner, err := s.identified(ctx, owner)
	if err != nil {
		return err
	}
	stored, err := s.inventories.Load(ctx, owner)
	if err != nil && !records.IsLost(err) && !records.IsForeign(err) && !s.inventories.Store.Unreachable(ctx, owner, err) {
		return err
	}
	if stored.Exists() {
		if exists, err := s.exists(ctx, owner); err != nil || exists {
			return err
		}
		if len(stored.Lines) > 0 {
			log.FromContext(ctx).Info("the owner was deleted without its finalizer; its dependents remain in the cluster",
				"owner", owner.String(), "dependents", len(stored.Lines), "label", s.labelOf(owner))
		}
		if err := s.inventories.Delete(ctx, owner, stored); err != nil {
			return err
		}
	}
	s.engine.Forget(owner)
	return nil
}

// exists reports whether the object of an owner exists and has the finalizer, or may still get it. It asks the API
// server.
func (s *Standalone) exists(ctx context.Context, owner manifests.Owner) (bool, error) {
	live, err := s.live(ctx, owner)
	return live != nil && (live.DeletionTimestamp == nil || s.finalizers().Holds(live)), err
}

// live reads the metadata of the object of an owner from the API server. It returns nil if the object does not exist.
func (s *Standalone) live(ctx context.Context, owner manifests.Owner) (*metav1.PartialObjectMetadata, error) {
	mapping, err := s.home.Discovery.Mapper().RESTMapping(owner.Component().GroupKind())
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the type of %s: %w", owner.Component(), err)
	}
	found, err := s.home.Metadata.Resource(mapping.Resource).Namespace(owner.Namespace).
		Get(ctx, owner.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the metadata of %s: %w", owner.Component(), err)
	}
	return found, nil
}

// ResultOf returns when a controller has to make the next pass if no watch event starts one earlier.
func ResultOf(o result.Outcome) reconcile.Result {
	if o.NextDue.IsZero() {
		return reconcile.Result{}
	}
	return reconcile.Result{RequeueAfter: max(o.NextDue.Sub(clock.RealClock{}.Now()), time.Millisecond)}
}
