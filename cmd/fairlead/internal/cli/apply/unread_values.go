package apply

import (
	"context"
	"errors"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/unread"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// warnOfUnread warns of values on the command line that nothing in the source reads. fields are the fields of the spec
// that the command line sets.
func warnOfUnread(ctx context.Context, warn func(error), archive publish.Archive, fields map[string]any) {
	given, _ := fields["values"].(map[string]any)
	if len(given) == 0 {
		return
	}
	tree, err := archive.Files()
	if err != nil {
		return
	}
	path, _ := fields["path"].(string)
	engine, _ := fields["generator"].(string)
	skipSchema, _ := fields["helm.skipSchema"].(bool)
	for _, value := range unread.Values(ctx, render.Request{
		Source: tree, Path: path, Engine: generator.Engine(engine), Namespace: "default", Name: "release-name",
		Values: given, SkipSchema: skipSchema,
	}) {
		warn(errors.New(unread.Message(value)))
	}
}
