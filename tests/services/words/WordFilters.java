import java.io.Reader;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.lucene.analysis.en.PorterStemFilter;
import org.apache.lucene.analysis.miscellaneous.ASCIIFoldingFilter;
import org.apache.lucene.analysis.pattern.PatternReplaceCharFilter;
import org.elasticsearch.index.analysis.CharFilterFactory;
import org.elasticsearch.index.analysis.PreConfiguredTokenFilter;
import org.elasticsearch.indices.analysis.AnalysisModule.AnalysisProvider;
import org.elasticsearch.plugins.AnalysisPlugin;
import org.elasticsearch.plugins.Plugin;

/**
 * The parts of the product's analyzer that the test server lacks, under the names, with the settings and with the Lucene
 * classes that a complete Elasticsearch has them with (its module analysis-common).
 */
public class WordFilters extends Plugin implements AnalysisPlugin {
    @Override
    public List<PreConfiguredTokenFilter> getPreConfiguredTokenFilters() {
        return List.of(
            PreConfiguredTokenFilter.singleton("asciifolding", true, ASCIIFoldingFilter::new),
            PreConfiguredTokenFilter.singleton("porter_stem", false, PorterStemFilter::new)
        );
    }

    @Override
    public Map<String, AnalysisProvider<CharFilterFactory>> getCharFilters() {
        return Map.of("pattern_replace", AnalysisPlugin.requiresAnalysisSettings((index, environment, name, settings) ->
            new PatternReplace(name, Pattern.compile(settings.get("pattern")), settings.get("replacement"))));
    }

    private record PatternReplace(String name, Pattern pattern, String replacement) implements CharFilterFactory {
        @Override
        public Reader create(Reader reader) {
            return new PatternReplaceCharFilter(pattern, replacement, reader);
        }
    }
}
