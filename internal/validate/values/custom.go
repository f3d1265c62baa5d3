package values

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Type checks the values of the objects of a type. It is safe for concurrent use.
type Type struct {
	// structural is the schema of a custom type, as far as it prunes and sets defaults; nil for a type of Kubernetes.
	structural *structural.Structural
	schema     *spec.Schema
	// transitions are the rules of a custom type that compare an object with its previous version.
	transitions []Transition
	// rules compiles the other rules of a custom type, which have a size; nil if there are none.
	rules func() *cel.Validator
	size  ruleSize
}

// Defined returns the check of a type that a CustomResourceDefinition in the set defines, from its openAPIV3Schema. It
// leaves out rules that older API servers do not know, because nothing confirms its faults.
func Defined(schema map[string]any) (*Type, error) {
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	props := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal(text, props); err != nil {
		return nil, err
	}
	transitions := transitionsIn(props, "")
	var size ruleSize
	prepare(props, &size)
	t, err := custom(props, withoutNumberFormat)
	if err != nil {
		return nil, err
	}
	t.transitions = transitions
	t.addRules(size)
	return t, nil
}

// Packed is the schema of a custom type that an API server serves, compressed. transitions are the rules that the
// compressed schema lacks, and rules is the size of those that it has.
type Packed struct {
	compressed  []byte
	size        int64
	transitions []Transition
	rules       ruleSize
}

// Pack compresses a schema of an OpenAPI document.
func Pack(model []byte) (*Packed, error) {
	props := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal(model, props); err != nil {
		return nil, err
	}
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(props.Properties, name)
	}
	transitions := transitionsIn(props, "")
	var rules ruleSize
	prepare(props, &rules)
	text, err := json.Marshal(props)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return &Packed{
		compressed: slices.Clone(packed.Bytes()), size: int64(len(text)), transitions: transitions, rules: rules,
	}, nil
}

// unpackedBytes is an estimate of the memory of an unpacked schema, for each byte of its text.
const unpackedBytes = 40

// Memory is an estimate of the memory that Unpack needs, without that of the rules; see Type.RulesMemory.
func (p *Packed) Memory() int64 { return p.size * unpackedBytes }

// Unpack returns the check of the type.
func (p *Packed) Unpack() (*Type, error) {
	props := &apiextensionsv1.JSONSchemaProps{}
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(p.compressed)))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, props); err != nil {
		return nil, err
	}
	t, err := custom(props, nil)
	if err != nil {
		return nil, err
	}
	t.transitions = p.transitions
	t.addRules(p.rules)
	return t, nil
}

// prepare drops what says nothing about values, and gives objects that are embedded the fields that an API server
// requires of them. It adds the rules that it keeps to a size.
func prepare(s *apiextensionsv1.JSONSchemaProps, rules *ruleSize) {
	s.Description, s.Title, s.Example, s.ExternalDocs = "", "", nil, nil
	s.XValidations = currentRules(s.XValidations, rules)
	for name, property := range s.Properties {
		prepare(&property, rules)
		s.Properties[name] = property
	}
	if s.Items != nil && s.Items.Schema != nil {
		prepare(s.Items.Schema, rules)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		prepare(s.AdditionalProperties.Schema, rules)
	}
	for i := range s.AllOf {
		prepare(&s.AllOf[i], rules)
	}
	if !s.XEmbeddedResource {
		return
	}
	// An OpenAPI document refers to the schema of all metadata here.
	delete(s.Properties, "metadata")
	for _, name := range []string{"apiVersion", "kind"} {
		if !slices.Contains(s.Required, name) {
			s.Required = append(s.Required, name)
		}
	}
}

// custom returns the check of a schema. extra, if set, changes each schema in it.
func custom(props *apiextensionsv1.JSONSchemaProps, extra func(*spec.Schema)) (*Type, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil); err != nil {
		return nil, err
	}
	t := &Type{schema: &spec.Schema{}}
	var err error
	if t.structural, err = structural.NewStructural(internal); err != nil {
		return nil, fmt.Errorf("the schema is not structural: %w", err)
	}
	err = validation.ConvertJSONSchemaPropsWithPostProcess(internal, t.schema, func(s *spec.Schema) error {
		if !allowPattern(s.Pattern) {
			s.Pattern = ""
		}
		if extra != nil {
			extra(s)
		}
		// Newer API servers know more formats. A format that they do not know is ignored.
		return validation.StripUnsupportedFormatsPostProcess(s)
	})
	return t, err
}

// withoutNumberFormat drops the range of a format, such as int32, which older API servers do not check.
func withoutNumberFormat(s *spec.Schema) {
	if !s.Type.Contains("string") {
		s.Format = ""
	}
}

// decoded returns the object as an API server validates it: without unknown fields, without null where that is no
// value, and with defaults.
func (t *Type) decoded(object map[string]any) map[string]any {
	object = runtime.DeepCopyJSON(object)
	if t.structural == nil {
		withoutNull(object)
		return object
	}
	pruning.Prune(object, t.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, t.structural)
	defaulting.Default(object, t.structural)
	return object
}
