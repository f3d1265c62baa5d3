package changepreview

import (
	"context"
	"io/fs"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
	"github.com/fairlead-io/fairlead/pkg/component"
)

// Downloaded is a Fetcher that has the archive of an apply, so that the plan is made from the same bytes as the digest
// in the component. It fetches other archives.
type Downloaded struct {
	component.Fetcher
	Archive publish.Archive
}

// Fetch implements component.Fetcher.
func (d Downloaded) Fetch(ctx context.Context, ref metav1alpha1.SourceReference) (fs.FS, error) {
	if files, found := d.Fetched(ctx, ref); found {
		return files, nil
	}
	return d.Fetcher.Fetch(ctx, ref)
}

// Fetched implements component.Fetcher.
func (d Downloaded) Fetched(ctx context.Context, ref metav1alpha1.SourceReference) (fs.FS, bool) {
	if ref.SHA256 != d.Archive.SHA256() {
		return d.Fetcher.Fetched(ctx, ref)
	}
	files, err := d.Archive.Files()
	return files, err == nil
}
