{ chart: 'linkerd-crds', targetRevision: '2026.8.2' }
