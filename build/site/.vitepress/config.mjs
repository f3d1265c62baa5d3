import path from 'node:path'
import { defineConfig } from 'vitepress'
import { address, resolve, sidebar, stage } from '../pages.mjs'

const pages = path.resolve(import.meta.dirname, '../pages')
stage(pages)

// The anchors of GitHub, as test/docs checks them.
const slugify = (text) => [...text].map((r) => (r === ' ' ? '-' : /[-_\p{L}\p{N}]/u.test(r) ? r.toLowerCase() : '')).join('')

// What pages may contain of HTML. All other tags are text, such as <name>.
const tags = /^<\/?(a|br|details|div|em|img|kbd|p|picture|source|strong|sub|summary|sup)[\s/>]/i

// repository makes a page of the repository one of the site: links, what looks like HTML or Vue, tables, code blocks.
function repository(md) {
  const { code_inline, fence, table_open, table_close } = md.renderer.rules
  const escape = (content) => md.utils.escapeHtml(content).replaceAll('{{', '&#123;&#123;')
  const html = (tokens, i, options, env) => {
    const content = tokens[i].content.replace(/<!--.*?-->/gs, '')
    return content.replace(/<[^>]*>?|[^<]+/g, (part) => {
      if (part[0] !== '<') return tokens[i].type === 'html_block' ? part.replaceAll('{{', '&#123;&#123;') : escape(part)
      if (!tags.test(part)) return escape(part)
      return part.replace(/(src|srcset|href)="([^"]*)"/g, (_, name, to) => `${name}="${resolve(env.source, to)}"`)
    })
  }
  Object.assign(md.renderer.rules, {
    text: (tokens, i) => escape(tokens[i].content),
    code_inline: (...args) => code_inline(...args).replaceAll('{{', '&#123;&#123;'),
    html_inline: html,
    html_block: html,
    table_open: (...args) =>
      '<div class="table" role="group" aria-label="Table" tabindex="0">' + (table_open?.(...args) ?? '<table>\n'),
    table_close: (...args) => (table_close?.(...args) ?? '</table>\n') + '</div>\n',
    // What follows the language is for the test that runs the block. The name of a file is for the reader, too. The
    // help of a command is prose.
    fence: (tokens, i, options, env, self) => {
      const [language, ...words] = tokens[i].info.trim().split(/ +/)
      tokens[i].info = language
      const file = words.find((word) => word.startsWith('file='))?.slice('file='.length)
      const help = language === 'text' && env.source.startsWith('docs/reference/fairlead/')
      const block = fence(tokens, i, options, env, self).replace('class="language-text', help ? '$& prose' : '$&')
      return file ? block.replace(/(<span class="lang">)[^<]*/, `$1${md.utils.escapeHtml(file)}`) : block
    },
  })
  md.core.ruler.push('repository', ({ tokens, env }) => {
    env.source = path.relative(pages, env.realPath ?? env.path)
    tokens.forEach((token, i) => {
      // An empty cell is no heading.
      if (token.type === 'th_open' && tokens[i + 1].content === '') token.tag = tokens[i + 2].tag = 'td'
    })
    for (const token of tokens.flatMap((token) => token.children ?? [])) {
      for (const name of ['href', 'src']) {
        const to = token.attrGet(name)
        if (to !== null) token.attrSet(name, resolve(env.source, to))
      }
    }
  })
  md.linkify.set({ fuzzyLink: false, fuzzyEmail: false })
}

// What the search box of VitePress needs for people who do not see it: the box is a dialog, not a button; the results are
// links, which an option may not contain, and are called as they read; a key with a name needs a role.
const corrections = [
  [/role="button"\s+:aria-owns="[^"]*"\s+aria-expanded="true"\s+aria-haspopup="listbox"/, 'role="dialog" aria-modal="true"'],
  [/:role="results\?\.length \? 'listbox' : undefined"/, ''],
  [/:aria-selected="[^"]*"\s+role="option"/, ''],
  [/:aria-label="\[\.\.\.p\.titles, p\.title\]\.join\(' > '\)"/, ''],
  [/<kbd :aria-label/g, '<kbd role="img" :aria-label'],
]

const accessibleSearch = {
  name: 'accessible-search',
  enforce: 'pre',
  transform(code, id) {
    if (!id.endsWith('/VPLocalSearchBox.vue')) return
    return corrections.reduce((text, [from, to]) => {
      if (text.search(from) < 0) throw new Error(`another version of VitePress: its search box has no ${from}`)
      return text.replace(from, to)
    }, code)
  },
}

export default defineConfig({
  title: 'Fairlead',
  description: 'Guides Kubernetes objects into a cluster in order',
  lang: 'en',
  base: process.env.SITE_BASE || '/',
  srcDir: 'pages',
  outDir: 'dist',
  rewrites: (source) => address(source) + '.md',
  markdown: {
    anchor: { slugify },
    attrs: { disable: true },
    config: repository,
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  vite: {
    plugins: [accessibleSearch],
    // The index of the search is one file, and is loaded at the first search.
    build: { chunkSizeWarningLimit: 4096 },
  },
  themeConfig: {
    nav: [{ text: 'Documentation', link: '/contents.html' }],
    sidebar: sidebar(),
    outline: { level: [2, 3] },
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: 'https://github.com/fairlead-io/fairlead' }],
    editLink: { pattern: 'https://github.com/fairlead-io/fairlead/edit/main/:path', text: 'Edit this page' },
  },
})
