package components

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// UpdateStatus changes the author's part of a component's status: all fields except the embedded Status, and in the
// embedded Status all conditions that the reconciler does not write. change gets the newest known version of the
// component and changes its status. After a conflict, change is called again with the stored version. An error of
// change is returned unchanged. If change changes nothing, no request is sent.
//
// After a successful write, the stored author's part is copied into obj, and Load returns the written version even
// while the cache is older.
func (s *Store) UpdateStatus(ctx context.Context, obj Object, change func(Object) error) error {
	stored, err := s.update(ctx, obj, func(stored Object) (Object, error) {
		return stored, s.updateStatusOnce(ctx, stored, change)
	})
	if err != nil {
		return err
	}
	return copyAuthorStatus(obj, stored)
}

// update calls try with the newest known version of a component. After each conflict, up to maxRetries times, it reads
// the stored version and calls try again. It returns the result of try.
func (s *Store) update(ctx context.Context, obj Object, try func(stored Object) (Object, error)) (Object, error) {
	name := client.ObjectKeyFromObject(obj)
	stored, err := s.loadExisting(ctx, name)
	for retry := 0; ; retry++ {
		if err != nil {
			return nil, err
		}
		if uid := obj.GetUID(); uid != "" && stored.GetUID() != uid {
			return nil, s.options.conflict(name, "the component was deleted and created again")
		}
		var written Object
		written, err = try(stored)
		if err == nil {
			return written, nil
		}
		if !apierrors.IsConflict(err) || retry == maxRetries {
			return nil, err
		}
		stored, err = s.reload(ctx, name, retry)
	}
}

// updateStatusOnce changes the author's part of the status of a stored component and sends it, without retries.
func (s *Store) updateStatusOnce(ctx context.Context, stored Object, change func(Object) error) error {
	before, err := copyOf(stored)
	if err != nil {
		return err
	}
	if err := change(stored); err != nil {
		return err
	}
	// The stored reconciler's part is restored, because change may have edited it by mistake.
	restored := before.GetStatus().DeepCopy()
	restored.Conditions = withAuthorConditions(restored.Conditions, stored.GetStatus().Conditions)
	*stored.GetStatus() = *restored
	if equality.Semantic.DeepEqual(before, stored) {
		return nil
	}
	stored.GetStatus().RecordDigest, _, _ = cutMark(restored)
	if err := s.options.Client.Status().Update(ctx, stored); err != nil {
		return err
	}
	s.keepWrite(stored)
	return nil
}

// copyAuthorStatus copies the author's part of the stored status into obj. The reconciler's part of obj is not
// replaced, because it may contain changes that a pass has not written yet.
func copyAuthorStatus(obj, stored Object) error {
	if obj == stored {
		return nil
	}
	status := reflect.ValueOf(obj).Elem().FieldByName("Status")
	if !status.CanSet() {
		return fmt.Errorf("%T has no field Status", obj)
	}
	kept := obj.GetStatus().DeepCopy()
	kept.Conditions = withAuthorConditions(kept.Conditions, stored.GetStatus().Conditions)
	copied := stored.DeepCopyObject()
	status.Set(reflect.ValueOf(copied).Elem().FieldByName("Status"))
	*obj.GetStatus() = *kept
	obj.SetResourceVersion(stored.GetResourceVersion())
	return nil
}

// Continue returns the status with which a pass begins that continues another one: kept is the status that the other
// pass had at its end, persisted is the status that the API server had then, and loaded is the status that it has now.
// The author's conditions are those of loaded. ok is false if another client has changed the reconciler's part of the
// status, so that kept must not be used.
func Continue(kept, persisted, loaded *metav1alpha1.Status) (next *metav1alpha1.Status, ok bool) {
	if !equalAsStored(persisted, loaded) {
		return nil, false
	}
	if equality.Semantic.DeepEqual(kept, persisted) {
		// The stored times have no fractions of a second. With them, an equal status would be written once more.
		return loaded.DeepCopy(), true
	}
	next = kept.DeepCopy()
	next.Conditions = withAuthorConditions(kept.Conditions, loaded.Conditions)
	if kept.ProgressingSince.Equal(persisted.ProgressingSince) {
		// The stored time has no fractions of a second. With them it would count as one that is not stored.
		next.ProgressingSince = loaded.ProgressingSince.DeepCopy()
	}
	return next, true
}

// equalAsStored reports whether the reconciler's parts of two statuses are the same for the API server, which stores no
// fractions of a second.
func equalAsStored(a, b *metav1alpha1.Status) bool {
	var stored [2][]byte
	for i, s := range []*metav1alpha1.Status{a, b} {
		own := *s
		own.Conditions = withAuthorConditions(s.Conditions, nil)
		text, err := json.Marshal(&own)
		if err != nil {
			return false
		}
		stored[i] = text
	}
	return bytes.Equal(stored[0], stored[1])
}

// withAuthorConditions returns the reconciler's conditions of own, followed by the author's conditions of stored.
func withAuthorConditions(own, stored []metav1.Condition) []metav1.Condition {
	merged := slices.DeleteFunc(slices.Clone(own), isAuthorCondition)
	for _, c := range stored {
		if isAuthorCondition(c) {
			merged = append(merged, c)
		}
	}
	return merged
}

// earlierRepairConflict is the type that earlier versions of the reconciler gave to the condition RepairConflict.
const earlierRepairConflict = "Contested"

// isAuthorCondition reports whether a condition has a type that the reconciler does not write.
func isAuthorCondition(c metav1.Condition) bool {
	switch c.Type {
	case metav1alpha1.ConditionReady, metav1alpha1.ConditionReconciling, metav1alpha1.ConditionStalled,
		metav1alpha1.ConditionGeneratorResults, metav1alpha1.ConditionNonDeterministic,
		metav1alpha1.ConditionRepairConflict, earlierRepairConflict, metav1alpha1.ConditionInputStale,
		metav1alpha1.ConditionOverridden:
		return false
	}
	return true
}

// IsReported reports whether another client changed the author's part of a component's status from before to after. The
// latest write of this process is not reported. An earlier write of this process may be.
func (s *Store) IsReported(before, after client.Object) bool {
	written := s.options.States.Known(client.ObjectKeyFromObject(after)).lastWrite()
	if written != nil && written.GetUID() == after.GetUID() && written.GetResourceVersion() == after.GetResourceVersion() {
		return false
	}
	return !equality.Semantic.DeepEqual(authorStatus(before), authorStatus(after))
}

// authorStatus returns the status of a component with the author's part only, or nil if the object has no status.
func authorStatus(obj client.Object) any {
	component, ok := obj.DeepCopyObject().(Object)
	if !ok {
		return nil
	}
	*component.GetStatus() = metav1alpha1.Status{Conditions: withAuthorConditions(nil, component.GetStatus().Conditions)}
	status := reflect.ValueOf(component).Elem().FieldByName("Status")
	if !status.IsValid() {
		return nil
	}
	return status.Interface()
}
