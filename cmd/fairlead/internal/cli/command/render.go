package command

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/download"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
	"github.com/fairlead-io/fairlead/internal/operator"
)

// Generators are the values of the flag --generator.
var Generators = []string{"Helm", "Kustomize", "GoTemplate"}

// GeneratorOf returns the generator with this name, in upper or lower case. It returns unknown names unchanged.
func GeneratorOf(text string) string {
	for _, name := range Generators {
		if strings.EqualFold(name, text) {
			return name
		}
	}
	return text
}

// AddValueFlags adds the flags of Helm for values. It returns their names.
func AddValueFlags(flags *pflag.FlagSet, options *values.Options) []string {
	flags.StringSliceVarP(&options.Files, "values", "f", nil,
		"files of values, separated by commas; may be repeated, a later file overrides earlier files; - is stdin")
	assigned := &options.Assigned
	flags.StringArrayVar(&assigned.Plain, "set", nil,
		"values as in helm --set, such as image.tag=v2; they override all files")
	flags.StringArrayVar(&assigned.Text, "set-string", nil, "values that are texts, such as image.tag=1.10")
	flags.StringArrayVar(&assigned.Files, "set-file", nil,
		"values that are the contents of files, such as config=app.conf; - is stdin")
	flags.StringArrayVar(&assigned.JSON, "set-json", nil,
		`values in JSON, such as 'ports=[80, 443]'; --set overrides them`)
	flags.StringArrayVar(&assigned.Literal, "set-literal", nil,
		"value that is a text with any characters, such as 'query=a,b=c'")
	return []string{"values", "set", "set-string", "set-file", "set-json", "set-literal"}
}

// FlagSkipSchema is the name of the flag that AddSkipSchemaFlag adds.
const FlagSkipSchema = "skip-schema"

// AddSkipSchemaFlag adds --skip-schema to the flags of a command that reads values for a chart.
func AddSkipSchemaFlag(flags *pflag.FlagSet, skip *bool) {
	flags.BoolVar(skip, FlagSkipSchema, false,
		"do not validate values by the schema of the chart, like helm --skip-schema-validation")
}

// OpenPlace reads the files of a folder, of an archive, or of the archive behind a URL.
func OpenPlace(ctx context.Context, place string) (fs.FS, error) {
	if download.IsURL(place) {
		got, err := download.Get(ctx, place, "")
		return got.Files, err
	}
	tree, err := render.Open(place)
	if err != nil {
		return nil, exit.BadInput("%w", err)
	}
	return tree, nil
}

// RefuseRendering returns the error if a part of a component, such as its notes, cannot be rendered.
func RefuseRendering(target cluster.Target, part string, err error) error {
	if exit.IsBadUsage(err) {
		return err
	}
	err = render.WithRemedy(err, "", "")
	if errors.Is(err, operator.ErrNotPolled) && !exit.IsUnasked(err) {
		return exit.BadInput("%s: %s cannot be rendered: %w", target, part, err)
	}
	return exit.Refuse("%s: %s cannot be rendered: %w", target, part, err)
}
