package operator

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// call sends a request to a path of the service, and decodes the answer into result. Its errors are those of
// external.Kind.
func (k Records) call(
	ctx context.Context, refs generator.References, path string, request external.HTTPCall, result any,
) error {
	token, err := refs.OnlySecret("token")
	if err != nil {
		return external.Refused(err)
	}
	request.URL, request.Token = strings.TrimSuffix(k.URL, "/")+path, token
	request.Client = &http.Client{Transport: k.Transport}
	if err := request.Do(ctx, result); err != nil {
		return fmt.Errorf("the DNS service: %w", err)
	}
	return nil
}

// pathOf returns the path of a record.
func pathOf(id string) string { return "/records/" + url.PathEscape(id) }

// list returns the records with a tag, or all, from all pages.
func (k Records) list(ctx context.Context, refs generator.References, tag string) (map[string]Record, error) {
	records := map[string]Record{}
	for query := (url.Values{"tag": {tag}}); ; {
		var page struct {
			Records []Record
			Next    string
		}
		err := k.call(ctx, refs, "/records?"+query.Encode(), external.HTTPCall{Waits: true}, &page)
		if err != nil {
			return nil, err
		}
		for _, record := range page.Records {
			records[record.ID] = record
		}
		if page.Next == "" {
			return records, nil
		}
		query.Set("page", page.Next)
	}
}
