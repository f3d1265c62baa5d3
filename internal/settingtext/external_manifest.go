package settingtext

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// externalID parses the annotation with the id of an existing external.
func (p *settingsParser) externalID() string {
	id, ok := p.value(manifests.AnnotationExternalID)
	if ok && strings.TrimSpace(id) == "" {
		p.fail(manifests.AnnotationExternalID, "is empty; remove it, or set the id of the external")
	}
	return id
}

// CheckExternalName checks kind and name of an external, which together are a key in the data of a Secret.
func CheckExternalName(kind, name string) error {
	var errs []error
	if problems := validation.IsDNS1035Label(strings.ToLower(kind)); len(problems) > 0 {
		errs = append(errs, fmt.Errorf("kind %q: %s", kind, strings.Join(problems, "; ")))
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		errs = append(errs, fmt.Errorf("metadata.name %q: %s", name, strings.Join(problems, "; ")))
	}
	if length := len(kind) + 1 + len(name); length > validation.DNS1123SubdomainMaxLength {
		errs = append(errs, fmt.Errorf("kind and metadata.name have %d characters together; %d are allowed",
			length-1, validation.DNS1123SubdomainMaxLength-1))
	}
	return errors.Join(errs...)
}

// MaxExternal is the maximum size of the manifest of an external as JSON, in bytes. It is stored in a Secret.
const MaxExternal = 64 << 10

// ExternalReferences returns the Secrets and ConfigMaps that the manifest of an external names in its field references.
// They are in the namespace of the component.
func ExternalReferences(body *unstructured.Unstructured) ([]metav1alpha1.Reference, error) {
	field, found := body.Object["references"]
	if !found {
		return nil, nil
	}
	list, ok := field.([]any)
	if !ok {
		return nil, errors.New("references: it is no list")
	}
	var refs []metav1alpha1.Reference
	var errs []error
	for i, item := range list {
		ref, err := externalReference(item)
		if err != nil {
			errs = append(errs, fmt.Errorf("references[%d]: %w", i, err))
			continue
		}
		refs = append(refs, ref)
	}
	return refs, errors.Join(errs...)
}

func externalReference(item any) (metav1alpha1.Reference, error) {
	fields, ok := item.(map[string]any)
	if !ok {
		return metav1alpha1.Reference{}, errors.New("it is no map with kind and name")
	}
	kind, _ := fields["kind"].(string)
	name, _ := fields["name"].(string)
	ref := metav1alpha1.Reference{Kind: metav1alpha1.ReferenceKind(kind), Name: name, Credential: true}
	var errs []error
	if ref.Kind != metav1alpha1.SecretReference && ref.Kind != metav1alpha1.ConfigMapReference {
		errs = append(errs, fmt.Errorf("kind is %q; it must be Secret or ConfigMap", kind))
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		errs = append(errs, fmt.Errorf("name is %q: %s", name, strings.Join(problems, "; ")))
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if field != "kind" && field != "name" {
			errs = append(errs, fmt.Errorf("%s: unknown field", field))
		}
	}
	return ref, errors.Join(errs...)
}
