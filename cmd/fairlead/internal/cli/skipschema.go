package cli

import "github.com/spf13/pflag"

const flagSkipSchema = "skip-schema"

func addSkipSchemaFlag(flags *pflag.FlagSet, skip *bool) {
	flags.BoolVar(skip, flagSkipSchema, false,
		"do not validate values by the schema of the chart, like helm --skip-schema-validation")
}
