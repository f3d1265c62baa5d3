package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rights"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Recovery describes how to recover the inventory of a component.
type Recovery struct {
	Searcher Searcher
	// DeletePolicy is the delete policy of objects whose manifests set no delete policy.
	DeletePolicy metav1alpha1.DeletePolicy
	// Cluster, Namespace and Name are the declared target; see Status.TargetCluster. Namespaces are further namespaces to
	// search.
	Cluster, Namespace, Name string
	Namespaces               []string
	// ManagedTypes are the managed types that the component declares, in the format of Status.ManagedTypes.
	ManagedTypes []string
	// User is the user that the search impersonates, empty without impersonation.
	User string
	// AsOperator is set if the search uses the operator's own rights. The operator can always list components, so a list
	// of their type does not show that dependents can be listed.
	AsOperator bool
	// Externals returns the entries of the recorded externals, which have no owner labels; nil if there are none.
	Externals func(ctx context.Context) ([]metav1alpha1.InventoryEntry, error)
	// Remote is set if the dependents are in another cluster than the component. NamespaceGoes reports whether a
	// namespace in their cluster is being deleted or does not exist.
	Remote        bool
	NamespaceGoes func(ctx context.Context, namespace string) bool
}

// Load returns the inventory of a component. An inventory that is lost or damaged, or that must not be believed (see
// components.Doubt), is recovered and written before anything is planned, because a plan without the inventory would
// lose dependents, or create and delete wrong objects. The Event says why the record was not believed, and names the
// types and namespaces that could not be searched. It is empty if nothing was recovered, or if a lost inventory was
// recovered completely. recovery is called only if a recovery is needed. The error is retried if the last recovery was
// less than searchInterval ago.
func (s *Store) Load(
	ctx context.Context, obj components.Object, owner manifests.Owner, recovery func() Recovery,
) ([]metav1alpha1.InventoryEntry, status.Event, error) {
	if lines := s.state(obj).fallback(obj.GetStatus()); lines != nil {
		entries, err := metav1alpha1.ParseInventory(lines)
		return entries, status.Event{}, err
	}
	r := &recoverer{store: s, obj: obj, owner: owner, declared: sync.OnceValue(recovery)}
	cause := r.changedBy()
	if err := s.state(obj).checkInterval(owner.Component(), cause, s.isDamaged(obj), time.Now()); err != nil {
		return nil, status.Event{}, err
	}
	found, err := r.read(ctx)
	if err != nil || found.report == nil {
		return found.entries, status.Event{}, err
	}
	found.cause = cause
	if components.Doubt(obj.GetStatus()) != "" {
		s.state(obj).noteSearch(time.Now())
	}
	entries, err := r.restore(ctx, found)
	if err != nil {
		return entries, status.Event{}, err
	}
	return entries, r.noteRecovery(ctx, found), nil
}

// Read returns the inventory of a component like Load, and writes nothing.
func (s *Store) Read(
	ctx context.Context, obj components.Object, owner manifests.Owner, recovery func() Recovery,
) ([]metav1alpha1.InventoryEntry, error) {
	r := &recoverer{store: s, obj: obj, owner: owner, declared: recovery}
	found, err := r.read(ctx)
	return found.entries, err
}

// recoverer recovers the inventory of a component in one pass, if the recorded inventory is lost, damaged or in doubt.
type recoverer struct {
	store *Store
	obj   components.Object
	owner manifests.Owner
	// declared returns how to recover. It is called only if a recovery is needed.
	declared func() Recovery
}

// read returns the recorded inventory, or a recovered inventory with the report of the search.
func (r *recoverer) read(ctx context.Context) (recovered, error) {
	lines, lost := r.store.lines(ctx, r.obj, r.owner)
	if lost != nil && !records.IsLost(lost) {
		return recovered{}, readError("cannot be read", lost)
	}
	recorded, err := metav1alpha1.ParseInventory(lines)
	if newer := newerRecord(err); newer != nil {
		if isForeign, err := r.isForeign(ctx, lost); err != nil || !isForeign {
			return recovered{}, cmp.Or(err, newer)
		}
	}
	if err == nil && lost == nil && !r.store.isDamaged(r.obj) {
		return recovered{entries: recorded}, nil
	}
	declared := r.declared()
	report, err := declared.Searcher.Search(
		ctx, r.owner, declared.DeletePolicy, namespacesOf(r.obj, declared, recorded))
	if err != nil {
		return recovered{}, readError(r.problem()+", and cannot be rebuilt from the owner labels", err)
	}
	if err := r.checkReport(ctx, declared, report); err != nil {
		return recovered{}, err
	}
	live := report.entries()
	if declared.Externals != nil {
		outside, err := declared.Externals(ctx)
		if err != nil {
			return recovered{}, readError(r.problem()+", and the states of externals cannot be read", err)
		}
		live = append(live, outside...)
	}
	log.FromContext(ctx).Info("rebuilt the inventory from owner labels", "recorded", len(recorded), "found", len(live))
	return join(recorded, live, report, isRestored(r.obj)), nil
}

// isForeign reports whether another client wrote the lines of a record with an unknown critical field. Only a record
// that is damaged or in doubt can be foreign. lost is the error of reading the lines.
func (r *recoverer) isForeign(ctx context.Context, lost error) (bool, error) {
	if lost == nil && !r.store.isDamaged(r.obj) {
		return false, nil
	}
	if !r.obj.GetStatus().HasInventoryRecord() {
		isOurs, err := r.store.Components.WroteField(ctx, client.ObjectKeyFromObject(r.obj), "inventory")
		return err == nil && !isOurs, err
	}
	secrets, err := r.store.Records.ListKind(ctx, r.owner, records.Inventory)
	return err == nil && !r.store.Records.Marks.WroteInventories(secrets), err
}

// namespacesOf returns the known namespaces in which a component may have dependents.
func namespacesOf(obj components.Object, r Recovery, recorded []metav1alpha1.InventoryEntry) []string {
	known := []string{obj.GetNamespace(), obj.GetStatus().TargetNamespace, r.Namespace}
	return knownNamespaces(recorded, append(known, r.Namespaces...)...)
}

// knownNamespaces returns the given namespaces and those of recorded entries, sorted, and without empty texts.
func knownNamespaces(recorded []metav1alpha1.InventoryEntry, namespaces ...string) []string {
	for _, e := range recorded {
		namespaces = append(namespaces, e.Namespace)
	}
	slices.Sort(namespaces)
	return slices.DeleteFunc(slices.Compact(namespaces), func(namespace string) bool { return namespace == "" })
}

// readError returns the condition error of an inventory that could not be read.
func readError(what string, err error) error {
	if passerror.Interrupted(err) {
		return err
	}
	return &passerror.Error{
		Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("the recorded inventory %s: %v", what, err),
	}
}

// checkReport returns an error if a search could list no type at all in the namespace of the dependents. Otherwise an
// empty inventory would be written, and all dependents would remain in the cluster without notice. A deletion of the
// component continues nevertheless if the namespace of the dependents is being deleted, because the rights are deleted
// with the namespace. It also continues if the namespace of the component is being deleted, unless the dependents are
// in another cluster.
func (r *recoverer) checkReport(ctx context.Context, declared Recovery, report Report) error {
	if declared.AsOperator {
		report = report.without(r.owner.Component().GroupKind())
	}
	deleting := !r.obj.GetDeletionTimestamp().IsZero()
	if report.listedAny(declared.Namespace) || deleting && (declared.NamespaceGoes(ctx, declared.Namespace) ||
		!declared.Remote && r.store.Records.NamespaceGoes(ctx, r.obj.GetNamespace())) {
		return nil
	}
	where := "in the namespace " + declared.Namespace
	if declared.Namespace == "" {
		where = "anywhere"
	}
	refused := fmt.Sprint(report.refusal(declared.Namespace))
	advice := rights.Advice(refused, declared.User, "allow that user to list the types of the dependents there")
	message := fmt.Sprintf("the recorded inventory %s, and cannot be rebuilt from the owner labels, "+
		"because no type of dependents may be listed %s, such as: %v; %s", r.problem(), where, refused, advice)
	switch {
	case deleting:
		message += status.HintGiveUp
	case r.obj.GetStatus().Reconciler == "":
		message += "; or remove the operator's finalizer from the component: then it continues with an empty inventory, " +
			"and dependents that are no longer rendered remain in the cluster, with their owner label"
	}
	return &passerror.Error{Reason: metav1alpha1.ReasonForbidden, Terminal: true, Message: message}
}

// restore writes a recovered inventory to the status. It adds the entries of inventories in Secrets, and the names of
// the other records that it finds in Secrets. This must be the first write of the status in a pass, because any other
// write would make the status look complete, and the loss of the inventory would go unnoticed.
func (r *recoverer) restore(ctx context.Context, found recovered) ([]metav1alpha1.InventoryEntry, error) {
	st, inventory, declared := r.obj.GetStatus(), plan.NewInventory(found.entries), r.declared()
	doubted := components.Doubt(st) != ""
	secrets, err := r.addUnnamed(ctx, found, inventory)
	if newer, ok := errors.AsType[*passerror.Error](err); ok {
		return nil, newer
	}
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, readError(r.problem()+", and its remaining Secrets cannot be read", err)
	}
	found.restoreTarget(r.obj, declared)
	if err := restoreOthers(ctx, r.store.Records, st, r.owner); err != nil {
		return nil, err
	}
	if len(st.ManagedTypes) == 0 || doubted {
		st.ManagedTypes = united(st.ManagedTypes, declared.ManagedTypes)
	}
	entries, recorded := inventory.Sorted(), components.RefOf(st)
	if err := r.enterRecovered(ctx, entries, len(secrets) > 0); err != nil {
		return nil, err
	}
	components.Believe(r.obj, r.owner.Cluster)
	if len(entries) == 0 && !namesRecords(st) && recorded.Empty() && !doubted {
		// There is nothing to write: no dependents and no records were found. If the pass ends without a write of the
		// status, the next pass has the same result.
		return entries, nil
	}
	if err := r.store.Components.WriteStatus(ctx, r.obj, recorded); err != nil {
		return nil, err
	}
	if !r.store.isDamaged(r.obj) {
		r.setStale(secrets)
	}
	r.store.state(r.obj).setRecovered(time.Now())
	return entries, nil
}

// restoreTarget enters the declared target into a status whose record another client edited. The recorded target stays
// if the found dependents show that the declaration was changed, because a change of the target would delete them: the
// cluster if no dependents were found in the declared cluster, and the namespace and the name if dependents were found
// in the recorded namespace, and none in the declared one.
func (r recovered) restoreTarget(obj components.Object, declared Recovery) {
	st, live := obj.GetStatus(), r.report.entries()
	if components.Doubt(st) == "" || components.IsCopy(obj) {
		return
	}
	isIn := func(namespace string) bool {
		return slices.ContainsFunc(live, func(e metav1alpha1.InventoryEntry) bool { return e.Namespace == namespace })
	}
	if len(live) > 0 || len(r.entries) == 0 {
		st.TargetCluster = declared.Cluster
	}
	if isIn(declared.Namespace) || !isIn(st.TargetNamespace) {
		st.TargetNamespace, st.TargetName = declared.Namespace, declared.Name
	}
}

// namesRecords reports whether a status names records in Secrets, or may have named some.
func namesRecords(st *metav1alpha1.Status) bool {
	return st.PhaseRecord != "" || st.RenderedSet != "" || st.InventoryRecord != nil
}

// united returns the sorted elements of two lists.
func united(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// enterRecovered adds the finalizer, and then enters a recovered inventory into the status. hasSecrets is set if there
// are Secrets of inventories. Then status.inventoryRecord is set, so that a deletion of the component also deletes
// these Secrets.
func (r *recoverer) enterRecovered(
	ctx context.Context, entries []metav1alpha1.InventoryEntry, hasSecrets bool,
) error {
	st := r.obj.GetStatus()
	if len(entries) > 0 && r.obj.GetDeletionTimestamp().IsZero() {
		if err := r.store.Components.AddFinalizer(ctx, r.obj); err != nil {
			return err
		}
	}
	recorded, named := components.RefOf(st), st.InventoryRecord
	if hasSecrets || recorded.Secrets().Name != "" {
		st.InventoryRecord = &metav1alpha1.InventoryRecord{}
	}
	if err := r.store.Write(ctx, r.obj, recorded, entries); err != nil {
		if named != nil {
			st.InventoryRecord = named
		}
		return err
	}
	st.Reconciler = r.store.Reconciler
	return nil
}

// addUnnamed reads the latest inventory in Secrets, and adds its entries to a recovered inventory; see addRecorded. The
// lost or edited status may not name these Secrets. addUnnamed returns the Secrets of all inventories.
func (r *recoverer) addUnnamed(
	ctx context.Context, found recovered, inventory plan.Inventory,
) ([]metav1.PartialObjectMetadata, error) {
	secrets, err := r.store.Records.ListKind(ctx, r.owner, records.Inventory)
	if err != nil {
		return nil, err
	}
	lines, err := r.store.Records.ReadLatestInventory(ctx, r.owner, secrets)
	if err != nil && !records.IsLost(err) {
		return nil, err
	}
	// A parse error is ignored, because the search has found the objects by their labels.
	entries, err := metav1alpha1.ParseInventory(lines)
	if newer := newerRecord(err); newer != nil && r.store.Records.Marks.WroteInventories(secrets) {
		return nil, newer
	}
	for _, e := range entries {
		found.addRecorded(inventory, e)
	}
	return secrets, nil
}

// setStale marks Secrets of inventories as stale, except those that the status names.
func (r *recoverer) setStale(secrets []metav1.PartialObjectMetadata) {
	state := r.store.state(r.obj)
	if named := state.lookup(r.obj.GetStatus()); named != nil {
		secrets = slices.DeleteFunc(secrets, records.HasID(named.id))
	}
	if len(secrets) > 0 {
		state.Records.AddStale(secrets)
	}
}

// changedBy returns why the record in a status is not used, if another client changed it. It returns an empty text for
// a record that is intact, for a status that was lost as a whole, for a record without a number, and for a record whose
// lines could not be written; see fallBack.
func (r *recoverer) changedBy() string {
	st := r.obj.GetStatus()
	cause := components.Doubt(st)
	if cause != "" || st.InventoryWrites == 0 || st.Reconciler == "" || !r.store.isDamaged(r.obj) {
		return cause
	}
	if st.InventoryRecord != nil && st.InventoryRecord.Name == "" && len(st.Inventory) == 0 {
		return ""
	}
	return "the inventory does not match inventoryDigest"
}

// problem returns the part of a message that says why the recorded inventory of a component is not used.
func (r *recoverer) problem() string {
	if cause := r.changedBy(); cause != "" {
		return "was changed by another client (" + cause + ")"
	}
	return "is lost or damaged"
}

// noteRecovery returns the Event about a recovery: that another client changed the record, and which types and
// namespaces could not be searched. The Event is empty if there is neither. During a deletion, every status contains
// what could not be searched (see State.Unsearched), because nothing searches for these dependents after the component
// was deleted.
func (r *recoverer) noteRecovery(ctx context.Context, found recovered) status.Event {
	note, event := found.describe(), "RecordChanged"
	if found.cause == "" {
		note, event = "the recorded inventory was lost or damaged, and rebuilt from owner labels"+found.describeCopies(),
			"InventoryIncomplete"
	}
	unsearched := found.report.unsearched()
	if unsearched != "" {
		note += "; " + unsearched +
			"; find missing dependents by the label " + r.store.Reconciler + "/" + manifests.LabelOwnerID + "=" + r.owner.ID()
		log.FromContext(ctx).Info("the rebuilt inventory may lack dependents", "unsearched", unsearched)
		if !r.obj.GetDeletionTimestamp().IsZero() {
			r.store.state(r.obj).setUnsearched(note)
		}
	}
	if unsearched == "" && found.cause == "" && len(found.copies) == 0 {
		return status.Event{}
	}
	return status.Warning(event, note)
}
