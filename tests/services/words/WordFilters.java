import java.util.List;
import org.apache.lucene.analysis.en.PorterStemFilter;
import org.apache.lucene.analysis.miscellaneous.ASCIIFoldingFilter;
import org.elasticsearch.index.analysis.PreConfiguredTokenFilter;
import org.elasticsearch.plugins.AnalysisPlugin;
import org.elasticsearch.plugins.Plugin;

/**
 * The two token filters of the product's analyzer that the test server lacks, under the names and with the Lucene
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
}
