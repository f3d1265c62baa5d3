package command

import (
	"errors"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// HasManifest reports whether one of the files of values is the manifest of a component.
func HasManifest(files []string) bool {
	return slices.ContainsFunc(files, func(file string) bool { return componentIn(file) != nil })
}

// componentIn returns the manifest in a file if it is a Component of the ready-made operator, or nil.
func componentIn(file string) *unstructured.Unstructured {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil // Values.Load returns the error.
	}
	objects, err := manifests.Decode(file, text)
	if err != nil || len(objects) != 1 {
		return nil
	}
	gvk := objects[0].GroupVersionKind()
	if gvk.Group != v1alpha1.GroupVersion.Group || gvk.Kind != "Component" {
		return nil
	}
	return objects[0]
}

// TakeManifest removes the manifest of a component, if there is one, from the files of values. The values of the
// manifest become their base, and namespace its namespace. TakeManifest returns the manifest or nil, and the arguments
// with the name of the component, which the manifest has too.
func TakeManifest(
	options *values.Options, namespace *string, args []string,
) (manifest *unstructured.Unstructured, named []string, err error) {
	var files []string
	for _, file := range options.Files {
		found := componentIn(file)
		switch {
		case found == nil:
			files = append(files, file)
		case manifest != nil:
			return nil, nil, exit.BadUsage("-f %s: this is a second manifest of a component; want one", file)
		default:
			if err := unknownFields(found); err != nil {
				return nil, nil, exit.BadInput("-f %s: %w; kubectl explain component.spec lists the fields", file, err)
			}
			manifest = found
		}
	}
	if options.Files = files; manifest == nil {
		return nil, args, nil
	}
	base, _, err := unstructured.NestedMap(manifest.Object, "spec", "values")
	if err != nil {
		return nil, nil, exit.BadInput("the manifest: %w", err)
	}
	options.Base = base
	if given := manifest.GetNamespace(); given != "" {
		if *namespace != "" && *namespace != given {
			return nil, nil, exit.BadUsage(
				"the manifest has the namespace %q, and the flag --namespace %q", given, *namespace)
		}
		*namespace = given
	}
	name := manifest.GetName()
	if len(args) < 2 {
		return manifest, append([]string{name}, args...), nil
	}
	if args[0] != name {
		return nil, nil, exit.BadUsage("the manifest has the name %q, and the argument is %q", name, args[0])
	}
	return manifest, args, nil
}

// unknownFields returns an error that names all fields of a manifest that a component does not have. The API server
// would drop them without an error, so a misspelt field would be a missing one.
func unknownFields(manifest *unstructured.Unstructured) error {
	text, err := manifest.MarshalJSON()
	if err != nil {
		return err
	}
	problems, err := kjson.UnmarshalStrict(text, &v1alpha1.Component{})
	if err != nil {
		return err
	}
	return errors.Join(problems...)
}
