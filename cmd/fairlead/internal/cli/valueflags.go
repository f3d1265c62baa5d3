package cli

import (
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
)

// addValueFlags adds the flags of Helm for values. It returns their names.
func addValueFlags(flags *pflag.FlagSet, sources *values.Sources) []string {
	flags.StringSliceVarP(&sources.Files, "values", "f", nil,
		"files of values, separated by commas; may be repeated, a later file overrides earlier files; - is stdin")
	assigned := &sources.Assigned
	flags.StringArrayVar(&assigned.Plain, "set", nil,
		"values as in helm --set, such as image.tag=v2; they override all files")
	flags.StringArrayVar(&assigned.Text, "set-string", nil, "values that are texts, such as image.tag=1.10")
	flags.StringArrayVar(&assigned.Files, "set-file", nil,
		"values that are the contents of files, such as config=app.conf; - is stdin")
	flags.StringArrayVar(&assigned.JSON, "set-json", nil, `values in JSON, such as 'ports=[80, 443]'; --set overrides them`)
	flags.StringArrayVar(&assigned.Literal, "set-literal", nil,
		"value that is a text with any characters, such as 'query=a,b=c'")
	return []string{"values", "set", "set-string", "set-file", "set-json", "set-literal"}
}
