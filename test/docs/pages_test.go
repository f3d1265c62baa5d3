package docs_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/test/docs"
)

const (
	// bareDirective gives a page a cluster of its own, on which nothing of Fairlead is.
	bareDirective = "bare"
	// ownDirective gives it one of its own, with an operator, and with default as the namespace.
	ownDirective = "own"
	// remoteDirective gives it a second cluster, whose kubeconfig is the file remote.kubeconfig.
	remoteDirective = "remote"

	// blockTimeout is how long the commands of a block may take.
	blockTimeout = 2 * time.Minute
	// awaitTimeout is how long a block may take to print what is expected eventually, and awaitInterval the time
	// between two attempts.
	awaitTimeout, awaitInterval = 30 * time.Second, 200 * time.Millisecond
)

// TestPages does what the pages say, each from its beginning to its end: what a block leaves is there for those after
// it.
func TestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	ctrllog.SetLogger(logr.Discard())
	// Operators end with the thread that started them.
	runtime.LockOSThread()
	stage := &stage{root: absolute(t, root)}
	t.Cleanup(func() { stage.end(t) })
	for _, page := range readPages(t) {
		if !runs(page) || !wanted(page) {
			continue
		}
		session := stage.session(t, page)
		t.Run(page.Path, func(t *testing.T) { play(t, page, session) })
		stage.clear(t)
	}
}

// play does what a page says, and stops where that fails.
func play(t *testing.T, page *docs.Page, session *docs.Session) {
	p := &player{session: session}
	for _, block := range page.Blocks {
		ctx, cancel := context.WithTimeout(t.Context(), blockTimeout)
		err := p.play(ctx, block)
		cancel()
		if err != nil {
			t.Fatalf("%s:%d: %v", page.Path, block.Line, err)
		}
	}
}

// only bounds the test to some pages: go test ./test/docs -run TestPages -page docs/cli.md,docs/how-to
var only = flag.String("page", "", "paths, or their beginnings, of the only pages whose commands are run")

func wanted(page *docs.Page) bool {
	return slices.ContainsFunc(strings.Split(*only, ","), func(path string) bool { return strings.HasPrefix(page.Path, path) })
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	result, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// runs tells whether a page does anything with a cluster or a shell.
func runs(page *docs.Page) bool {
	for _, block := range page.Blocks {
		switch action, err := block.Decide(); {
		case err != nil: // Another test tells.
		case action == docs.ActionCompile, action == docs.ActionShow, action == docs.ActionParse, action == docs.ActionWrite:
		default:
			return true
		}
	}
	return false
}

// player does what the blocks of a page say.
type player struct {
	session *docs.Session
	objects int
}

func (p *player) play(ctx context.Context, block docs.Block) error {
	action, err := block.Decide()
	if err != nil {
		return err
	}
	switch action {
	case docs.ActionRun:
		return p.run(ctx, block.Text)
	case docs.ActionFail:
		if out, err := p.session.Run(ctx, block.Text); err == nil {
			return fmt.Errorf("it succeeded, and is to fail\n%s", out)
		}
		return nil
	case docs.ActionSyntax:
		return p.session.Check(ctx, block.Text)
	case docs.ActionCompare, docs.ActionAwait:
		return p.compare(ctx, block, action)
	case docs.ActionApply:
		return p.kubectl(ctx, "apply --validate=strict", block.Text)
	case docs.ActionDryRun:
		return p.kubectl(ctx, "apply --validate=strict --dry-run=server", block.Text)
	case docs.ActionComponent:
		component, err := docs.Complete(block.Text)
		if err != nil {
			return err
		}
		return p.kubectl(ctx, "apply --validate=strict --dry-run=server", component)
	case docs.ActionWrite:
		return p.session.Write(block.File(), block.Text)
	case docs.ActionParse, docs.ActionCompile, docs.ActionShow:
		return nil // Other tests do that.
	}
	return fmt.Errorf("nobody knows how to %q", action)
}

func (p *player) run(ctx context.Context, script string) error {
	if out, err := p.session.Run(ctx, script); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// kubectl hands objects to kubectl.
func (p *player) kubectl(ctx context.Context, command, objects string) error {
	p.objects++
	file := filepath.Join(p.session.Dir, fmt.Sprintf(".objects-%d.yaml", p.objects))
	if err := os.WriteFile(file, []byte(objects), 0o600); err != nil {
		return err
	}
	return p.run(ctx, "kubectl "+command+" -f '"+file+"'")
}

// compare runs the commands of a console block, one after the other.
func (p *player) compare(ctx context.Context, block docs.Block, action docs.Action) error {
	commands := docs.Commands(block)
	if len(commands) == 0 {
		return fmt.Errorf("no line begins with \"$ \"; say text, or console norun")
	}
	for i, command := range commands {
		try := p.once
		if action == docs.ActionAwait {
			try = p.await
		}
		fails := block.Fails() && i == len(commands)-1
		if err := try(ctx, command, fails); err != nil {
			return fmt.Errorf("line %d: $ %s\n%w", command.Line, command.Script, err)
		}
	}
	return nil
}

func (p *player) once(ctx context.Context, command docs.Command, fails bool) error {
	out, err := p.session.Run(ctx, command.Script)
	switch {
	case fails && err == nil:
		return fmt.Errorf("it succeeded, and is to fail\n%s", out)
	case !fails && err != nil:
		return fmt.Errorf("%w\n%s", err, out)
	case strings.TrimSpace(command.Want) != "" && !docs.Matches(command.Want, out):
		return fmt.Errorf("it prints something else than the page says:\n%s", out)
	}
	return nil
}

func (p *player) await(ctx context.Context, command docs.Command, fails bool) error {
	ctx, cancel := context.WithTimeout(ctx, awaitTimeout)
	defer cancel()
	for {
		err := p.once(ctx, command, fails)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(awaitInterval):
		}
	}
}
