SELECT 'edge-26.8.2'; -- uplinker: edge
