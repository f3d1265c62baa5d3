package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// maxAnswer is the maximum size of an answer in bytes.
const maxAnswer = 1 << 20

// request is a request to the API. path is the id of a record, or empty for all records. key is the idempotency key.
type request struct {
	method, path, key string
	query             url.Values
	body              any
}

// call sends a request and decodes the answer into result. The errors are those of external.Kind: a refusal had no
// effect, and after any other error it is not known whether the request had an effect.
func (k Records) call(ctx context.Context, refs generator.References, r request, result any) error {
	httpRequest, err := k.request(ctx, refs, r)
	if err != nil {
		return external.Refused(err)
	}
	response, err := (&http.Client{Transport: k.Transport}).Do(httpRequest)
	if err != nil {
		return fmt.Errorf("call the DNS service: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	failure := external.HTTPError
	if r.method == http.MethodPost {
		failure = external.HTTPCreateError
	}
	if err := failure(response); err != nil {
		return fmt.Errorf("the DNS service: %w", err)
	}
	if result == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(result); err != nil {
		return fmt.Errorf("decode the answer of the DNS service: %w", err)
	}
	return nil
}

func (k Records) request(ctx context.Context, refs generator.References, r request) (*http.Request, error) {
	token, err := refs.OnlySecret("token")
	if err != nil {
		return nil, err
	}
	address, err := url.JoinPath(k.URL, "records", url.PathEscape(r.path))
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	if r.body != nil {
		if err := json.NewEncoder(&body).Encode(r.body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, r.method, address+"?"+r.query.Encode(), &body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	if r.key != "" {
		request.Header.Set("Idempotency-Key", r.key)
	}
	return request, nil
}
