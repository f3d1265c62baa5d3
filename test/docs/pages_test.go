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
	// bareDirective gives a page its own cluster, without Fairlead.
	bareDirective = "bare"
	// ownDirective gives a page its own cluster, with an operator and with the namespace default.
	ownDirective = "own"
	// remoteDirective gives a page a second cluster, whose kubeconfig is the file remote.kubeconfig.
	remoteDirective = "remote"

	// blockTimeout is the maximum duration of the commands of a block. Some compile a program for the first time.
	blockTimeout = 5 * time.Minute
	// awaitTimeout is the maximum time until a block prints its expected output, and awaitInterval is the time between two
	// attempts.
	awaitTimeout, awaitInterval = 30 * time.Second, 200 * time.Millisecond
)

// TestPages runs the blocks of each page in order. The files and variables of a block are visible to the blocks after
// it.
func TestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	ctrllog.SetLogger(logr.Discard())
	// An operator ends with the thread that started it.
	runtime.LockOSThread()
	stage := &stage{root: absolute(t, root)}
	t.Cleanup(func() { stage.end(t) })
	for _, page := range readPages(t) {
		if !runs(page) || !wanted(page) {
			continue
		}
		session := stage.session(t, page)
		t.Run(page.Path, func(t *testing.T) { runPage(t, page, session) })
		stage.clear(t)
	}
}

// runPage runs the blocks of a page, and stops at the first failure.
func runPage(t *testing.T, page *docs.Page, session *docs.Session) {
	p := &pageRunner{session: session}
	for _, block := range page.Blocks {
		ctx, cancel := context.WithTimeout(t.Context(), blockTimeout)
		err := p.runBlock(ctx, block)
		cancel()
		if err != nil {
			t.Fatalf("%s:%d: %v", page.Path, block.Line, err)
		}
	}
}

// only limits the test to some pages, such as go test ./test/docs -run TestPages -page docs/cli.md,docs/how-to.
var only = flag.String("page", "", "paths, or their beginnings, of the only pages whose commands are run")

func wanted(page *docs.Page) bool {
	return slices.ContainsFunc(strings.Split(*only, ","), func(path string) bool {
		return strings.HasPrefix(page.Path,
			path)
	})
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	result, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// runs reports whether a page contains blocks that need a cluster or a shell.
func runs(page *docs.Page) bool {
	for _, block := range page.Blocks {
		switch action, err := block.Decide(); {
		case err != nil: // Another test reports this error.
		case action == docs.ActionCompile, action == docs.ActionShow, action == docs.ActionParse, action == docs.ActionWrite:
		default:
			return true
		}
	}
	return false
}

// pageRunner runs the blocks of a page.
type pageRunner struct {
	session *docs.Session
	objects int
}

func (p *pageRunner) runBlock(ctx context.Context, block docs.Block) error {
	action, err := block.Decide()
	if err != nil {
		return err
	}
	switch action {
	case docs.ActionRun:
		return p.run(ctx, block.Text)
	case docs.ActionFail:
		if out, err := p.session.Run(ctx, block.Text); err == nil {
			return fmt.Errorf("the block succeeded, but must fail\n%s", out)
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
		return nil // Other tests check these blocks.
	}
	return fmt.Errorf("unknown action %q", action)
}

func (p *pageRunner) run(ctx context.Context, script string) error {
	if out, err := p.session.Run(ctx, script); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// kubectl passes objects to kubectl.
func (p *pageRunner) kubectl(ctx context.Context, command, objects string) error {
	p.objects++
	file := filepath.Join(p.session.Dir, fmt.Sprintf(".objects-%d.yaml", p.objects))
	if err := os.WriteFile(file, []byte(objects), 0o600); err != nil {
		return err
	}
	return p.run(ctx, "kubectl "+command+" -f '"+file+"'")
}

// compare runs the commands of a console block in order, and compares their output.
func (p *pageRunner) compare(ctx context.Context, block docs.Block, action docs.Action) error {
	commands := docs.Commands(block)
	if len(commands) == 0 {
		return fmt.Errorf("no line begins with \"$ \"; use the language text, or console norun")
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

func (p *pageRunner) once(ctx context.Context, command docs.Command, fails bool) error {
	out, err := p.session.Run(ctx, command.Script)
	switch {
	case fails && err == nil:
		return fmt.Errorf("the command succeeded, but must fail\n%s", out)
	case !fails && err != nil:
		return fmt.Errorf("%w\n%s", err, out)
	case strings.TrimSpace(command.Want) != "" && !docs.Matches(command.Want, out):
		return fmt.Errorf("the output differs from the page:\n%s", out)
	}
	return nil
}

func (p *pageRunner) await(ctx context.Context, command docs.Command, fails bool) error {
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
