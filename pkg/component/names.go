package component

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
)

// finalizers returns the finalizers of the reconciler with the given name. The default finalizer is a previous one if
// the options set another.
func (o Options) finalizers(name string) components.Finalizers {
	own := components.Finalizer(name)
	if o.Names.Finalizer == "" || o.Names.Finalizer == own {
		return components.Finalizers{Own: own, Previous: o.Names.PreviousFinalizers}
	}
	return components.Finalizers{Own: o.Names.Finalizer, Previous: append(slices.Clone(o.Names.PreviousFinalizers), own)}
}

// fieldOwners returns the field owners of the reconciler with the given name, the current one first.
func (o Options) fieldOwners(name string) []string {
	return append([]string{cmp.Or(o.Names.FieldOwner, name), name}, o.Names.PreviousFieldOwners...)
}

// checkNames returns the joined errors of the field owners and the finalizers in the options.
func (o Options) checkNames(name string) error {
	var errs []error
	for _, owner := range append([]string{o.Names.FieldOwner}, o.Names.PreviousFieldOwners...) {
		for _, err := range metav1validation.ValidateFieldManager(owner, field.NewPath("Options.Names.FieldOwner")) {
			errs = append(errs, err)
		}
	}
	if slices.Contains(o.Names.PreviousFieldOwners, "") {
		errs = append(errs, errors.New("Options.Names.PreviousFieldOwners has an empty name"))
	}
	own := o.finalizers(name).Own
	for _, finalizer := range append([]string{own}, o.Names.PreviousFinalizers...) {
		domain, _, isQualified := strings.Cut(finalizer, "/")
		// The API server accepts a finalizer without a domain with a warning, and other operators use such finalizers.
		// Those of Kubernetes select how an object is deleted, so they are never those of an operator.
		isBare := finalizer != own && !isQualified && finalizer != metav1.FinalizerDeleteDependents &&
			finalizer != metav1.FinalizerOrphanDependents
		if !isBare && (!isQualified || domain == "") {
			errs = append(errs, fmt.Errorf(
				"finalizer %q in the options: want a domain and a name, such as example.com/finalizer", finalizer))
			continue
		}
		for _, text := range validation.IsQualifiedName(finalizer) {
			errs = append(errs, fmt.Errorf("finalizer %q in the options: %s", finalizer, text))
		}
	}
	return errors.Join(errs...)
}
