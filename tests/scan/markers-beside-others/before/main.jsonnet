local edge = 'edge-26.8.2';  // uplinker: edge
{ crds: { chart: 'linkerd-crds', version: '2026.8.2' }, proxy: edge }
